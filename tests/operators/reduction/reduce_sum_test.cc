#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::InferOpShapes;
using Ints = std::vector<int64_t>;

TEST(ReduceSum, InfersUnknownShapes) {
  EXPECT_EQ(InferOpShapes("reduce_sum", {{"X", {-1, 3}}}, {{"dim", Ints{1}}})
                .at("Out"),
            DDim({-1}));
  EXPECT_EQ(InferOpShapes("reduce_sum", {{"X", DDim::UnknownRank()}}).at("Out"),
            DDim());
  EXPECT_FALSE(InferOpShapes("reduce_sum", {{"X", DDim::UnknownRank()}},
                             {{"dim", Ints{1}}})
                   .at("Out")
                   .rank_known());
}

}  // namespace
}  // namespace sluice
