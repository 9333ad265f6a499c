#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

// k = 0, alpha = n and beta = 1: each element by the squares around it.
TEST(Lrn, SumsTheSquaresOfTheWindow) {
  const Tensor x = Tensor::FromVector<double>({1, 4, 1, 1}, {1, 2, 4, 8});
  const auto run = [&](int64_t n) {
    const AttributeMap attributes = {
        {"n", n}, {"k", 0.0}, {"alpha", static_cast<double>(n)}, {"beta", 1.0}};
    return RunOp("lrn", {{"X", x}}, attributes)["Out"].ToVector<double>();
  };
  EXPECT_EQ(run(1), (std::vector<double>{1, 1.0 / 2, 1.0 / 4, 1.0 / 8}));
  EXPECT_EQ(run(3), (std::vector<double>{1.0 / 5, 2.0 / 21, 4.0 / 84,  //
                                         8.0 / 80}));
  // Two channels: this one and the next.
  EXPECT_EQ(run(2), (std::vector<double>{1.0 / 5, 2.0 / 20, 4.0 / 80,  //
                                         8.0 / 64}));
  EXPECT_EQ(run(int64_t{1} << 62), run(1000));
}

}  // namespace
}  // namespace sluice
