#include <cmath>
#include <vector>

#include "tests/operators/elementwise_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::RunOp;
using framework::Tensor;
using platform::ErrorCode;
using ::sluice::testing::ExpectError;

Tensor Compute(const Tensor& x, const Tensor& y) {
  return RunOp("elementwise_div", {{"X", x}, {"Y", y}})["Out"];
}

TEST(ElementwiseDiv, TakesEachPairByItself) {
  const auto x = Tensor::FromVector<float>({3}, {7, -2, 0});
  const auto y = Tensor::FromVector<float>({3}, {2, 4, -1});
  EXPECT_EQ(Compute(x, y).ToVector<float>(),
            (std::vector<float>{3.5F, -0.5F, 0}));
}

TEST(ElementwiseDiv, ByZeroFollowsIeee) {
  const auto x = Tensor::FromVector<float>({3}, {1, -1, 0});
  const auto zero = Tensor::FromVector<float>({}, {0});
  const auto out = Compute(x, zero).ToVector<float>();
  EXPECT_EQ(out[0], INFINITY);
  EXPECT_EQ(out[1], -INFINITY);
  EXPECT_TRUE(std::isnan(out[2]));
}

TEST(ElementwiseDiv, RefusesIntegers) {
  const auto x = Tensor::FromVector<int32_t>({1}, {1});
  ExpectError(ErrorCode::kInvalidArgument, "op.dtype",
              {"elementwise_div", "X", "int32"}, [&] { Compute(x, x); });
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_ELEMENTWISE_CASE(elementwise_div,
                        Divisors::kAwayFromZero,
                        x / y,
                        grad / y,
                        -grad*(x / y) / y,
                        64);

}  // namespace
}  // namespace sluice::testing
