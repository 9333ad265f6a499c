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
  return RunOp("elementwise_mul", {{"X", x}, {"Y", y}})["Out"];
}

TEST(ElementwiseMul, TakesEachPairByItself) {
  const auto x = Tensor::FromVector<float>({3}, {7, -2, 3});
  const auto y = Tensor::FromVector<float>({3}, {2, 4, 0});
  EXPECT_EQ(Compute(x, y).ToVector<float>(), (std::vector<float>{14, -8, 0}));
}

TEST(ElementwiseMul, SmallIntegersWrapAround) {
  const auto x = Tensor::FromVector<uint8_t>({1}, {200});
  EXPECT_EQ(Compute(x, x).ToVector<uint8_t>()[0], 64);
  const auto y = Tensor::FromVector<int8_t>({1}, {-128});
  EXPECT_EQ(Compute(y, y).ToVector<int8_t>()[0], 0);
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_ELEMENTWISE_CASE(
    elementwise_mul, Divisors::kAnywhere, x* y, grad* y, grad* x, 64);

}  // namespace
}  // namespace sluice::testing
