#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::InferOpShapes;
using Ints = std::vector<int64_t>;

TEST(Pool3d, InfersShapes) {
  const auto out = InferOpShapes("pool3d", {{"X", {-1, 2, 7, -1, 6}}},
                                 {{"ksize", Ints{2, 3, 2}},
                                  {"strides", Ints{2, 1, 3}},
                                  {"dilations", Ints{2, 1, 2}},
                                  {"paddings", Ints{0, 1, 0, 0, 2, 1}}});
  EXPECT_EQ(out.at("Out"), DDim({-1, 2, 3, -1, 3}));
  EXPECT_EQ(out.at("Mask"), DDim({-1, 2, 3, -1, 3}));
}

}  // namespace
}  // namespace sluice
