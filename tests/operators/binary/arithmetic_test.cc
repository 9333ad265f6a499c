#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;
using testing::InferOpShapes;

Tensor Add(const Tensor& x, const Tensor& y, int64_t axis = -1) {
  return RunOp("elementwise_add", {{"X", x}, {"Y", y}}, {{"axis", axis}})
      .at("Out");
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

}  // namespace
}  // namespace sluice
