#include <cmath>
#include <vector>

#include "tests/operators/unary_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::operators {
namespace {

using framework::RunOp;
using framework::Tensor;

TEST(Abs, TakesEachElementByItself) {
  const Tensor x = Tensor::FromVector<float>({3}, {-2, 0, 3});
  EXPECT_EQ(RunOp("abs", {{"X", x}})["Out"].ToVector<float>(),
            (std::vector<float>{2, 0, 3}));
}

TEST(AbsGrad, Is0At0) {
  const Tensor x = Tensor::FromVector<float>({3}, {-2, 0, 3});
  const Tensor grad = Tensor::FromVector<float>({3}, {5, 6, 7});
  EXPECT_EQ(RunOp("abs_grad", {{"X", x}, {"Out@GRAD", grad}})["X@GRAD"]
                .ToVector<float>(),
            (std::vector<float>{-5, 0, 7}));
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the op with.
namespace sluice::testing {
namespace {

SLUICE_UNARY_CASE(abs, AwayFromZero, std::abs(x), "X", x < 0 ? -1 : 1);

}  // namespace
}  // namespace sluice::testing
