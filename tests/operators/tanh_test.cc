#include <cmath>
#include <vector>

#include "tests/operators/unary_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::RunOp;
using framework::Tensor;

TEST(Tanh, TakesEachElementByItself) {
  const Tensor x = Tensor::FromVector<float>({3}, {0, -INFINITY, INFINITY});
  EXPECT_EQ(RunOp("tanh", {{"X", x}})["Out"].ToVector<float>(),
            (std::vector<float>{0, -1, 1}));
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_UNARY_CASE(tanh, Anywhere, std::tanh(x), "Out", 1 - x * x);

}  // namespace
}  // namespace sluice::testing
