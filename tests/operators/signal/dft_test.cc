#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::InferOpShapes;

TEST(Dft, InfersShapes) {
  const auto shape = [](const DDim& x, const AttributeMap& attributes) {
    return InferOpShapes("dft", {{"X", x}}, attributes).at("Out");
  };
  EXPECT_EQ(shape({-1, 8, 1}, {{"onesided", true}}), DDim({-1, 5, 2}));
  EXPECT_EQ(shape({-1, 8, -1}, {{"axis", int64_t{0}}}), DDim({-1, 8, 2}));
  EXPECT_EQ(shape({2, 5, 2}, {{"onesided", true}, {"inverse", true}}),
            DDim({2, 8, 1}));
}

}  // namespace
}  // namespace sluice
