#include <cmath>
#include <vector>

#include "tests/operators/elementwise_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::RunOp;
using framework::Tensor;

Tensor Compute(const Tensor& x, const Tensor& y) {
  return RunOp("elementwise_sub", {{"X", x}, {"Y", y}})["Out"];
}

TEST(ElementwiseSub, TakesEachPairByItself) {
  const auto x = Tensor::FromVector<float>({3}, {7, -2, 3});
  const auto y = Tensor::FromVector<float>({3}, {2, 4, 3});
  EXPECT_EQ(Compute(x, y).ToVector<float>(), (std::vector<float>{5, -6, 0}));
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_ELEMENTWISE_CASE(
    elementwise_sub, Divisors::kAnywhere, x - y, grad, -grad, 1);

}  // namespace
}  // namespace sluice::testing
