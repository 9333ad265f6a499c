#include <cmath>
#include <vector>

#include "tests/operators/unary_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::RunOp;
using framework::Tensor;

TEST(Square, TakesEachElementByItself) {
  const Tensor x = Tensor::FromVector<float>({3}, {-3, 0, 2});
  EXPECT_EQ(RunOp("square", {{"X", x}})["Out"].ToVector<float>(),
            (std::vector<float>{9, 0, 4}));
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_UNARY_CASE(square, Anywhere, x* x, "X", 2 * x);

}  // namespace
}  // namespace sluice::testing
