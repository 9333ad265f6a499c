#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::InferOpShapes;

TEST(QuantizeLinear, AVectorOfUnknownSizeMayBeOneNumber) {
  EXPECT_EQ(InferOpShapes("dequantize_linear",
                          {{"X", {4}}, {"Scale", {}}, {"ZeroPoint", {-1}}})
                .at("Out"),
            DDim{4});
  EXPECT_EQ(
      InferOpShapes("quantize_linear", {{"X", {4}}, {"Scale", {-1}}}).at("Out"),
      DDim{4});
  EXPECT_EQ(InferOpShapes("quantize_linear", {{"X", {-1, 5}}, {"Scale", {5}}})
                .at("Out"),
            DDim({-1, 5}));
}

}  // namespace
}  // namespace sluice
