#include <cmath>
#include <limits>
#include <vector>

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
