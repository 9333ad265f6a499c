#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(Mul, InfersWhatIsKnown) {
  EXPECT_EQ(
      InferOpShapes("mul", {{"X", {-1, 20, 4, 4}}, {"Y", {320, 10}}}).at("Out"),
      DDim({-1, 10}));
  EXPECT_EQ(InferOpShapes("mul", {{"X", {-1, -1}}, {"Y", {320, -1}}})["Out"],
            DDim({-1, -1}));
}

}  // namespace
}  // namespace sluice
