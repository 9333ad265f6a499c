#include <cmath>
#include <vector>

#include "tests/operators/unary_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::RunOp;
using framework::Tensor;

TEST(Exp, TakesEachElementByItself) {
  const Tensor x = Tensor::FromVector<float>({3}, {0, -INFINITY, INFINITY});
  EXPECT_EQ(RunOp("exp", {{"X", x}})["Out"].ToVector<float>(),
            (std::vector<float>{1, 0, INFINITY}));
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_UNARY_CASE(exp, Anywhere, std::exp(x), "Out", x);

}  // namespace
}  // namespace sluice::testing
