#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::InferOpShapes;

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
