#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using TriluNumbers = std::vector<int32_t>;

TriluNumbers Triangle(bool upper, int64_t k) {
  const Tensor x = Tensor::FromVector<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  return RunOp("trilu", {{"X", x}}, {{"upper", upper}, {"k", k}})["Out"]
      .ToVector<int32_t>();
}

TEST(Trilu, KeepsATriangle) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Triangle(true, 0), (TriluNumbers{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(Triangle(false, 0), (TriluNumbers{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(Triangle(true, 1), (TriluNumbers{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(Triangle(false, -1), (TriluNumbers{0, 0, 0, 4, 0, 0}));
  EXPECT_EQ(Triangle(true, kMin), (TriluNumbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Triangle(true, kMax), TriluNumbers(6, 0));
  EXPECT_EQ(Triangle(false, kMin), TriluNumbers(6, 0));
  EXPECT_EQ(Triangle(false, kMax), (TriluNumbers{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace sluice
