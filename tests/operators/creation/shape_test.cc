#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(Shape, OfAnUnknownRankIsAVector) {
  EXPECT_EQ(InferOpShapes("shape", {{"X", DDim::UnknownRank()}}).at("Out"),
            DDim({-1}));
}

}  // namespace
}  // namespace sluice
