#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// cumsum and cumprod.
namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(Scan, InfersWhatIsKnown) {
  const AttributeMap flat = {{"flatten", true}};
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", {-1, 3}}})["Out"], DDim({-1, 3}));
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", {-1, 3}}}, flat)["Out"], DDim({-1}));
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", {2, 3}}}, flat)["Out"], DDim({6}));
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", DDim()}}, flat)["Out"], DDim({1}));
  EXPECT_EQ(InferOpShapes("cumprod", {{"X", {2, -1}}, {"Axis", DDim()}})["Out"],
            DDim({2, -1}));
}

}  // namespace
}  // namespace sluice
