#include <cmath>
#include <vector>

#include "tests/operators/unary_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::RunOp;
using framework::Tensor;

TEST(Sqrt, TakesEachElementByItself) {
  const Tensor x = Tensor::FromVector<float>({3}, {4, 0, INFINITY});
  EXPECT_EQ(RunOp("sqrt", {{"X", x}})["Out"].ToVector<float>(),
            (std::vector<float>{2, 0, INFINITY}));
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_UNARY_CASE(sqrt, AboveZero, std::sqrt(x), "Out", 0.5 / x);

}  // namespace
}  // namespace sluice::testing
