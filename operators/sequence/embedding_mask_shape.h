#pragma once

#include "sluice/operators/registration.h"

// Shared by the schemas of ops on embeddings and run-length coded masks.
namespace sluice {

// Declares Embedding and Mask.
inline void EmbeddingMaskInputs(OpSchema& op) {
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.TypeVar("S", {DType::kInt32, DType::kInt64});
  op.Input("Embedding", "T", "[B, X, Y, N]: N features for each pixel.");
  op.Input("Mask", "S",
           "[B, M, X, 2]: start and end of the run of each x, with "
           "0 <= start <= end <= Y; M masks an image.");
}

// Checks the shapes of Embedding and Mask and returns [B, M, N].
inline DDim EmbeddingMaskShape(const InferShapeContext& context) {
  const auto embedding = context.WithRank(context.input("Embedding"), 4);
  const auto mask = context.WithRank(context.input("Mask"), 4);
  context.WithValue(context.Dim(mask, 3), 2);
  const auto batch =
      context.Merge(context.Dim(embedding, 0), context.Dim(mask, 0));
  context.Merge(context.Dim(embedding, 1), context.Dim(mask, 2));
  return {batch.size, context.Dim(mask, 1).size,
          context.Dim(embedding, 3).size};
}

}  // namespace sluice
