#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
std::vector<T> Clip(const std::vector<T>& x, const AttributeMap& bounds) {
  const DDim dims({static_cast<int64_t>(x.size())});
  const Tensor out =
      RunOp("clip", {{"X", Tensor::FromVector(dims, x)}}, bounds)["Out"];
  return out.ToVector<T>();
}

TEST(Clip, CutsNothingByDefault) {
  const std::vector<float> x = {-kInfinity, -0.0F, 3, kInfinity};
  EXPECT_EQ(Clip<float>(x, {}), x);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> ends = {kLeast, kLeast + 1, kMost - 1, kMost};
  EXPECT_EQ(Clip<int64_t>(ends, {}), ends);
  const std::vector<uint8_t> bytes = {0, 255};
  EXPECT_EQ(Clip<uint8_t>(bytes, {}), bytes);
}

TEST(Clip, NanStaysNan) {
  EXPECT_TRUE(std::isnan(Clip<float>({kNan}, {{"min", 0.0}, {"max", 1.0}})[0]));
  const float16 nan{0x7E00};
  EXPECT_GT(Clip<float16>({nan}, {{"max", 1.0}})[0].bits & 0x7FFF, 0x7C00);
}

TEST(Clip, BoundsOfIntegersAreRoundedInwardsAndWithinTheirRange) {
  const std::vector<int8_t> x = {-128, -2, 0, 2, 127};
  EXPECT_EQ(Clip<int8_t>(x, {{"min", -1.5}, {"max", 1.5}}),
            (std::vector<int8_t>{-1, -1, 0, 1, 1}));
  EXPECT_EQ(Clip<int8_t>(x, {{"min", -1e300}, {"max", 1e300}}), x);
  EXPECT_EQ(Clip<int8_t>(x, {{"min", 300.0}}), std::vector<int8_t>(5, 127));
  EXPECT_EQ(Clip<uint8_t>({0, 7}, {{"max", -3.0}}),
            (std::vector<uint8_t>{0, 0}));
}

TEST(ClipGrad, IsThatOfOutWhereNothingWasCut) {
  const Tensor x = Tensor::FromVector<float>({6}, {-2, -1, 0, 1, 2, kNan});
  const Tensor grad = Tensor::FromVector<float>({6}, {3, 4, 5, 6, 7, 8});
  EXPECT_EQ(RunOp("clip_grad", {{"X", x}, {"Out@GRAD", grad}},
                  {{"min", -1.0}, {"max", 1.0}})["X@GRAD"]
                .ToVector<float>(),
            (std::vector<float>{0, 4, 5, 6, 0, 8}));
}

std::vector<testing::OpExample> Examples(testing::ExampleMaker& make,
                                         bool gradient) {
  // Between the float64 numbers, which are multiples of kSpacing.
  constexpr double kAside = testing::ExampleMaker::kSpacing / 2;
  const AttributeMap bounds = {{"min", -0.5 + kAside}, {"max", 0.75 + kAside}};
  std::vector<testing::OpExample> examples;
  for (const DDim& dims :
       {DDim{3, 7}, DDim{}, DDim{1}, DDim{5, 0}, DDim{2, 131, 521}}) {
    examples.push_back({{{"X", make.Values(dims)}}, bounds});
  }
  examples.push_back({{{"X", make.Values({5})}}, {}});
  for (testing::OpExample& example : examples) {
    if (!gradient) continue;
    const DDim dims = example.inputs[0].second.dims();
    example.inputs.emplace_back("Out@GRAD", make.Values(dims));
  }
  return examples;
}

std::vector<testing::OpExample> ClipExamples(testing::ExampleMaker& make) {
  return Examples(make, /*gradient=*/false);
}
std::vector<testing::OpExample> ClipGradExamples(testing::ExampleMaker& make) {
  return Examples(make, /*gradient=*/true);
}

testing::Arrays ClipReference(const testing::Arrays& inputs, const OpDesc& op) {
  double min = testing::GetAttr<double>(op, "min");
  double max = testing::GetAttr<double>(op, "max");
  testing::Array out = inputs.at("X");
  if (!IsFloating(out.dtype)) {
    min = std::ceil(min);
    max = std::floor(max);
  }
  for (double& value : out.values) {
    if (!std::isnan(value)) value = std::min(max, std::max(min, value));
  }
  return {{"Out", out}};
}

testing::Arrays ClipGradReference(const testing::Arrays& inputs,
                                  const OpDesc& op) {
  const double min = testing::GetAttr<double>(op, "min");
  const double max = testing::GetAttr<double>(op, "max");
  testing::Array x_grad = inputs.at("Out@GRAD");
  for (size_t i = 0; i < x_grad.values.size(); ++i) {
    const double x = inputs.at("X").values[i];
    if (x < min || max < x) x_grad.values[i] = 0;
  }
  return {{"X@GRAD", x_grad}};
}

}  // namespace

REGISTER_OP_CASE(clip, ClipExamples, ClipReference);
REGISTER_OP_CASE(clip_grad, ClipGradExamples, ClipGradReference);

}  // namespace sluice
