#include <cmath>
#include <vector>

#include "tests/operators/infer_op_shapes.h"
#include "tests/operators/unary_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::RunOp;
using framework::Tensor;
using platform::ErrorCode;
using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;

TEST(Relu, TakesEachElementByItself) {
  const Tensor x = Tensor::FromVector<float>({3}, {-2, 0, 3});
  EXPECT_EQ(RunOp("relu", {{"X", x}})["Out"].ToVector<float>(),
            (std::vector<float>{0, 0, 3}));
}

TEST(Relu, KeepsNaN) {
  const Tensor x = Tensor::FromVector<float>({1}, {NAN});
  EXPECT_TRUE(
      std::isnan(RunOp("relu", {{"X", x}})["Out"].ToVector<float>()[0]));
}

TEST(ReluGrad, IsThatOfOutWhereOutIsPositive) {
  const Tensor out = Tensor::FromVector<float>({3}, {0, 0.5F, 3});
  const Tensor grad = Tensor::FromVector<float>({3}, {5, 6, -7});
  EXPECT_EQ(RunOp("relu_grad", {{"Out", out}, {"Out@GRAD", grad}})["X@GRAD"]
                .ToVector<float>(),
            (std::vector<float>{0, 6, -7}));
}

TEST(ReluGrad, RefusesAGradientOfAnotherShape) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"relu_grad", "Out@GRAD", "3", "4"}, [] {
                InferOpShapes("relu_grad", {{"Out", {3}}, {"Out@GRAD", {4}}});
              });
}

TEST(Relu, RefusesIntegers) {
  const Tensor x = Tensor::FromVector<int32_t>({1}, {1});
  ExpectError(ErrorCode::kInvalidArgument, "op.dtype", {"relu", "X", "int32"},
              [&] {
                RunOp("relu", {{"X", x}});
              });
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_UNARY_CASE(relu, AwayFromZero, x > 0 ? x : 0, "Out", x > 0 ? 1 : 0);

}  // namespace
}  // namespace sluice::testing
