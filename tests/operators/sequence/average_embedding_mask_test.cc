#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::InferOpShapes;

TEST(AverageEmbeddingMask, InfersUnknownShapes) {
  const auto shapes = InferOpShapes(
      "average_embedding_mask",
      {{"Embedding", {-1, -1, 8, 16}}, {"Mask", DDim::UnknownRank()}});
  EXPECT_EQ(shapes.at("Out"), DDim({-1, -1, 16}));
  EXPECT_EQ(
      InferOpShapes("average_embedding_mask",
                    {{"Embedding", {-1, -1, 8, 16}}, {"Mask", {4, 5, 6, 2}}})
          .at("Out"),
      DDim({4, 5, 16}));
}

}  // namespace
}  // namespace sluice
