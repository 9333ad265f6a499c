#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

Ints Sizes(const Tensor& x, int64_t start, int64_t end) {
  return RunOp("shape", {{"X", x}}, {{"start", start}, {"end", end}})["Out"]
      .ToVector<int64_t>();
}

TEST(Shape, GivesTheSizesOfARange) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Tensor x =
      Tensor::FromVector<float>({2, 1, 3}, std::vector<float>(6, 0));
  EXPECT_EQ(Sizes(x, 0, kMax), (Ints{2, 1, 3}));
  EXPECT_EQ(Sizes(x, -1, 3), (Ints{3}));
  EXPECT_EQ(Sizes(x, kMin, -1), (Ints{2, 1}));
  EXPECT_EQ(Sizes(x, 2, 1), Ints());
  EXPECT_EQ(Sizes(x, kMax, kMin), Ints());
}

TEST(Shape, OfAnUnknownRankIsAVector) {
  EXPECT_EQ(InferOpShapes("shape", {{"X", DDim::UnknownRank()}}).at("Out"),
            DDim({-1}));
}

}  // namespace
}  // namespace sluice
