#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::InferOpShapes;

Tensor Where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  return RunOp("where", {{"Condition", condition}, {"X", x}, {"Y", y}})["Out"];
}

TEST(Where, WhatIsNotTakenDoesNotMatter) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto condition = Tensor::FromVector<bool>({2}, {true, false});
  const auto x = Tensor::FromVector<float>({2}, {1, nan});
  const auto y = Tensor::FromVector<float>({2}, {nan, 2});
  EXPECT_EQ(Where(condition, x, y).ToVector<float>(),
            (std::vector<float>{1, 2}));
}

TEST(Where, InfersUnknownShapes) {
  const auto infer = [](const DDim& condition, const DDim& x, const DDim& y) {
    return InferOpShapes("where",
                         {{"Condition", condition}, {"X", x}, {"Y", y}})
        .at("Out");
  };
  EXPECT_EQ(infer({-1, 1}, {3}, {}), DDim({-1, 3}));
  EXPECT_FALSE(infer(DDim::UnknownRank(), {3}, {}).rank_known());
}

}  // namespace

}  // namespace sluice
