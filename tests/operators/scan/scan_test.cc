#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// cumsum and cumprod.
namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

// A float sum of ones stays at 2^24 forever.
TEST(Scan, SumsOfFloatsAreMadeInDouble) {
  std::vector<float> values(40, 1);
  values[0] = 16777216;
  const Tensor x = Tensor::FromVector<float>({40}, values);
  EXPECT_EQ(RunOp("cumsum", {{"X", x}})["Out"].ToVector<float>().back(),
            16777216 + 40);
}

TEST(Scan, NanAndInfinityReachWhatFollows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor x =
      Tensor::FromVector<float>({4}, {1, kInfinity, -kInfinity, 0});
  const auto sum = RunOp("cumsum", {{"X", x}})["Out"].ToVector<float>();
  EXPECT_EQ(sum[0], 1);
  EXPECT_EQ(sum[1], kInfinity);
  EXPECT_TRUE(std::isnan(sum[2]) && std::isnan(sum[3]));
  const auto product = RunOp("cumprod", {{"X", x}})["Out"].ToVector<float>();
  EXPECT_EQ(product[2], -kInfinity);
  EXPECT_TRUE(std::isnan(product[3]));
}

TEST(Scan, IntegersWrapAround) {
  const Tensor x = Tensor::FromVector<int32_t>(
      {2}, {std::numeric_limits<int32_t>::max(), 2});
  EXPECT_EQ(RunOp("cumsum", {{"X", x}})["Out"].ToVector<int32_t>()[1],
            std::numeric_limits<int32_t>::min() + 1);
  EXPECT_EQ(RunOp("cumprod", {{"X", x}})["Out"].ToVector<int32_t>()[1], -2);
}

// Quotients by elements of 0 would be NaN.
TEST(Cumprod, ZerosHaveGradients) {
  const Tensor x = Tensor::FromVector<double>({4}, {2, 0, 5, 0});
  const Tensor grad = Tensor::FromVector<double>({4}, {1, 1, 1, 1});
  EXPECT_EQ(RunOp("cumprod_grad", {{"X", x}, {"Out@GRAD", grad}})["X@GRAD"]
                .ToVector<double>(),
            (std::vector<double>{1, 12, 0, 0}));
}

TEST(Scan, InfersWhatIsKnown) {
  const AttributeMap flat = {{"flatten", true}};
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", {-1, 3}}})["Out"], DDim({-1, 3}));
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", {-1, 3}}}, flat)["Out"], DDim({-1}));
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", {2, 3}}}, flat)["Out"], DDim({6}));
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", DDim()}}, flat)["Out"], DDim({1}));
  EXPECT_EQ(InferOpShapes("cumprod", {{"X", {2, -1}}, {"Axis", DDim()}})["Out"],
            DDim({2, -1}));
}

}  // namespace
}  // namespace sluice
