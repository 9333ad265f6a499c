#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

Tensor Mul(const Tensor& x,
           const Tensor& y,
           const AttributeMap& attributes = {}) {
  return RunOp("mul", {{"X", x}, {"Y", y}}, attributes)["Out"];
}

TEST(Mul, InfersWhatIsKnown) {
  EXPECT_EQ(
      InferOpShapes("mul", {{"X", {-1, 20, 4, 4}}, {"Y", {320, 10}}}).at("Out"),
      DDim({-1, 10}));
  EXPECT_EQ(InferOpShapes("mul", {{"X", {-1, -1}}, {"Y", {320, -1}}})["Out"],
            DDim({-1, -1}));
}

}  // namespace
}  // namespace sluice
