#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(Concat, InfersWhatIsKnown) {
  EXPECT_EQ(InferOpShapes("concat", {{"X", {-1, 2}}, {"X", {3, 2}}}).at("Out"),
            DDim({-1, 2}));
  EXPECT_EQ(InferOpShapes("concat", {{"X", {1, -1}}, {"X", {3, 2}}}).at("Out"),
            DDim({4, 2}));
  EXPECT_EQ(InferOpShapes("concat", {{"X", DDim::UnknownRank()}, {"X", {3, 2}}})
                .at("Out"),
            DDim({-1, 2}));
}

}  // namespace
}  // namespace sluice
