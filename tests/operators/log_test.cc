#include <cmath>
#include <vector>

#include "tests/operators/unary_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::RunOp;
using framework::Tensor;

TEST(Log, TakesEachElementByItself) {
  const Tensor x = Tensor::FromVector<float>({3}, {1, 0, INFINITY});
  EXPECT_EQ(RunOp("log", {{"X", x}})["Out"].ToVector<float>(),
            (std::vector<float>{0, -INFINITY, INFINITY}));
}

TEST(Log, OfNegativeNumbersIsNaN) {
  const Tensor x = Tensor::FromVector<float>({1}, {-1});
  EXPECT_TRUE(std::isnan(RunOp("log", {{"X", x}})["Out"].ToVector<float>()[0]));
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_UNARY_CASE(log, AboveZero, std::log(x), "X", 1 / x);

}  // namespace
}  // namespace sluice::testing
