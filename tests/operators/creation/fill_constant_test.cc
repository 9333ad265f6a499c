#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

Tensor Fill(const Ints& shape, DType dtype, double value) {
  return RunOp("fill_constant", {},
               {{"shape", shape}, {"dtype", dtype}, {"value", value}})["Out"];
}

TEST(FillConstant, IsZeroInFloat32WhenNothingElseIsAsked) {
  const Tensor out = RunOp("fill_constant", {}, {{"shape", Ints{2}}})["Out"];
  EXPECT_EQ(out.ToVector<float>(), (std::vector<float>{0, 0}));
}

TEST(FillConstant, FloatsTakeNaNAndInfinity) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Fill({1}, DType::kFloat32, kInfinity).ToVector<float>()[0],
            std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(
      Fill({1}, DType::kFloat64, std::nan("")).ToVector<double>()[0]));
}

TEST(FillConstant, TakesTheEndsOfTheRange) {
  EXPECT_EQ(Fill({1}, DType::kInt64, -0x1p63).ToVector<int64_t>()[0],
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Fill({1}, DType::kUInt8, 255).ToVector<uint8_t>()[0], 255);
}

TEST(FillConstant, IsTheFrameworksFill) {
  EXPECT_EQ(Registry::Global().Schema("fill_constant").role(), OpRole::kFill);
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

std::vector<OpExample> FillConstantExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Ints& shape :
       {Ints{3, 5}, Ints{}, Ints{1}, Ints{4, 0}, Ints{271, 301}}) {
    examples.push_back(
        {{}, {{"shape", shape}, {"dtype", make.dtype()}, {"value", 1.0}}});
  }
  return examples;
}

Arrays FillConstantReference(const Arrays& /*in*/, const OpDesc& op) {
  Array out(DDim(GetAttr<Ints>(op, "shape")));
  for (double& value : out.values) {
    value = GetAttr<double>(op, "value");
  }
  return {{"Out", out}};
}

std::vector<OpExample> FillAnyLikeExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims :
       {DDim{3, 5}, DDim{}, DDim{1}, DDim{4, 0}, DDim{271, 301}}) {
    examples.push_back({{{"X", make.Integers(DType::kInt32, dims, 0, 9)}},
                        {{"dtype", make.dtype()}, {"value", 1.0}}});
  }
  return examples;
}

Arrays FillAnyLikeReference(const Arrays& in, const OpDesc& op) {
  Array out(in.at("X").dims);
  for (double& value : out.values) {
    value = GetAttr<double>(op, "value");
  }
  return {{"Out", out}};
}

REGISTER_OP_CASE(fill_constant, FillConstantExamples, FillConstantReference);
REGISTER_OP_CASE(fill_any_like, FillAnyLikeExamples, FillAnyLikeReference);

}  // namespace
}  // namespace sluice::testing
