#include <cstdint>
#include <limits>
#include <vector>

#include "tests/operators/elementwise_case.h"
#include "tests/operators/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::RunOp;
using framework::Tensor;
using platform::ErrorCode;
using testing::ExpectError;
using testing::InferOpShapes;

Tensor Add(const Tensor& x, const Tensor& y, int64_t axis = -1) {
  return RunOp("elementwise_add", {{"X", x}, {"Y", y}}, {{"axis", axis}})
      .at("Out");
}

template <typename T>
class ElementwiseAddTest : public ::testing::Test {};
using Numbers =
    ::testing::Types<float, double, int8_t, uint8_t, int32_t, int64_t>;
TYPED_TEST_SUITE(ElementwiseAddTest, Numbers);

TYPED_TEST(ElementwiseAddTest, AddsTensorsOfOneShape) {
  using T = TypeParam;
  const auto x = Tensor::FromVector<T>({2, 2}, {1, 2, 3, 4});
  const auto y = Tensor::FromVector<T>({2, 2}, {10, 20, 30, 40});
  const Tensor out = Add(x, y);
  EXPECT_EQ(out.dims(), DDim({2, 2}));
  EXPECT_EQ(out.ToVector<T>(), (std::vector<T>{11, 22, 33, 44}));
}

TYPED_TEST(ElementwiseAddTest, RepeatsEitherSide) {
  using T = TypeParam;
  const auto column = Tensor::FromVector<T>({2, 1}, {1, 2});
  const auto row = Tensor::FromVector<T>({3}, {10, 20, 30});
  const std::vector<T> sum{11, 21, 31, 12, 22, 32};
  EXPECT_EQ(Add(column, row).template ToVector<T>(), sum);
  EXPECT_EQ(Add(row, column).template ToVector<T>(), sum);
}

TEST(ElementwiseAdd, AxisPlacesYUnderX) {
  const auto x = Tensor::FromVector<float>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto y = Tensor::FromVector<float>({2}, {10, 20});
  EXPECT_EQ(Add(x, y, 1).ToVector<float>(),
            (std::vector<float>{10, 11, 22, 23, 14, 15, 26, 27}));
  EXPECT_EQ(Add(x, y, 0).ToVector<float>(),
            (std::vector<float>{10, 11, 12, 13, 24, 25, 26, 27}));
}

TEST(ElementwiseAdd, IntegersWrapAround) {
  const auto x =
      Tensor::FromVector<int64_t>({1}, {std::numeric_limits<int64_t>::max()});
  const auto y = Tensor::FromVector<int64_t>({1}, {1});
  EXPECT_EQ(Add(x, y).ToVector<int64_t>()[0],
            std::numeric_limits<int64_t>::min());
  const auto small = Tensor::FromVector<int8_t>({1}, {127});
  EXPECT_EQ(Add(small, small).ToVector<int8_t>()[0], -2);
}

TEST(ElementwiseAdd, HalvesRoundToTheNearest) {
  // 2048 + 1 lies half-way between two float16: to the even one.
  const platform::float16 one{0x3C00};
  const platform::float16 big{0x6800};
  const auto x = Tensor::FromVector<platform::float16>({2}, {one, big});
  const auto y = Tensor::FromVector<platform::float16>({2}, {one, one});
  EXPECT_EQ(Add(x, y).ToVector<platform::float16>(),
            (std::vector<platform::float16>{{0x4000}, {0x6800}}));
  const platform::bfloat16 half{0x3F00};
  const auto b = Tensor::FromVector<platform::bfloat16>({1}, {half});
  EXPECT_EQ(Add(b, b).ToVector<platform::bfloat16>(),
            (std::vector<platform::bfloat16>{{0x3F80}}));
}

TEST(ElementwiseAdd, EmptyAndScalarShapes) {
  const auto empty = Tensor::FromVector<float>({0, 3}, {});
  const auto row = Tensor::FromVector<float>({3}, {1, 2, 3});
  EXPECT_EQ(Add(empty, row).dims(), DDim({0, 3}));
  const auto scalar = Tensor::FromVector<float>({}, {1});
  EXPECT_EQ(Add(scalar, scalar).ToVector<float>(), std::vector<float>{2});
  EXPECT_EQ(Add(scalar, row).dims(), DDim({3}));
}

TEST(ElementwiseAdd, LargeTensors) {
  const std::vector<float> ones(1000003, 1.0F);
  const auto x = Tensor::FromVector<float>({1000003}, ones);
  EXPECT_EQ(Add(x, x).ToVector<float>(), std::vector<float>(1000003, 2.0F));
}

TEST(ElementwiseAdd, InfersUnknownShapes) {
  EXPECT_EQ(
      InferOpShapes("elementwise_add", {{"X", {-1, 3}}, {"Y", {3}}}).at("Out"),
      DDim({-1, 3}));
  EXPECT_FALSE(
      InferOpShapes("elementwise_add", {{"X", DDim::UnknownRank()}, {"Y", {3}}})
          .at("Out")
          .rank_known());
}

TEST(ElementwiseAdd, RefusesShapesThatDoNotFit) {
  const auto x = Tensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto y = Tensor::FromVector<float>({2}, {1, 2});
  ExpectError(ErrorCode::kInvalidArgument, "elementwise.shapes",
              {"elementwise_add", "[2, 3]", "[2]", "dim 1"},
              [&] { Add(x, y); });
  ExpectError(ErrorCode::kInvalidArgument, "elementwise.axis",
              {"elementwise_add", "axis = 2", "[2, 3]", "<= 2"},
              [&] { Add(x, y, 2); });
  EXPECT_EQ(Add(x, y, 0).dims(), DDim({2, 3}));
}

TEST(ElementwiseAddGrad, SumsOverTheRepeatedDimensions) {
  const auto x = Tensor::FromVector<float>({2, 3}, {0, 0, 0, 0, 0, 0});
  const auto y = Tensor::FromVector<float>({3}, {0, 0, 0});
  const auto grad = Tensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  auto grads =
      RunOp("elementwise_add_grad", {{"X", x}, {"Y", y}, {"Out@GRAD", grad}},
            {}, {.outputs = {"X@GRAD", "Y@GRAD"}});
  EXPECT_EQ(grads["X@GRAD"].ToVector<float>(), grad.ToVector<float>());
  EXPECT_EQ(grads["Y@GRAD"].ToVector<float>(), (std::vector<float>{5, 7, 9}));
}

TEST(ElementwiseAddGrad, RefusesAGradientOfAnotherShape) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_rank",
              {"elementwise_add_grad", "Out@GRAD"}, [] {
                InferOpShapes("elementwise_add_grad",
                              {{"X", {2, 3}}, {"Y", {3}}, {"Out@GRAD", {3}}});
              });
}

TEST(ElementwiseAdd, RefusesTheMostNegativeAxis) {
  const auto x = Tensor::FromVector<float>({2}, {1, 2});
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_limit",
              {"elementwise_add", "axis", "at least -1"},
              [&] { Add(x, x, std::numeric_limits<int64_t>::min()); });
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_ELEMENTWISE_CASE(
    elementwise_add, Divisors::kAnywhere, x + y, grad, grad, 1);

}  // namespace
}  // namespace sluice::testing
