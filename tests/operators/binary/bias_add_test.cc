#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::InferOpShapes;

TEST(BiasAdd, InfersUnknownShapes) {
  EXPECT_EQ(InferOpShapes("bias_add", {{"X", {-1, -1, 4, 4}}, {"Bias", {8}}})
                .at("Out"),
            DDim({-1, 8, 4, 4}));
}

}  // namespace
}  // namespace sluice
