#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/embedding_mask_shape.h"

namespace sluice {
namespace {

void AverageEmbeddingMaskShape(InferShapeContext& context) {
  const DDim mean = EmbeddingMaskShape(context);
  context.SetOutput("Out", mean);
  context.SetOutput("Count", context.Matrix(mean[0], mean[1]));
}

void AverageEmbeddingMaskSchema(OpSchema& op) {
  op.Doc(
      "The mean of the embeddings of the pixels that each mask covers. A mask "
      "is run-length coded: for every x one run along Y, from its start up to "
      "its end, which is not part of it. An empty mask has mean 0 and count "
      "0.");
  EmbeddingMaskInputs(op);
  op.Output("Out", "T", "[B, M, N]: the mean of each mask.");
  op.Output("Count", "int64", "[B, M]: the number of pixels of each mask.");
  op.InferShape(AverageEmbeddingMaskShape);
}

constexpr GradientOp kAverageEmbeddingMaskGrad = {
    .forward = AverageEmbeddingMaskSchema,
    .doc =
        "The gradient of average_embedding_mask: each pixel gets Out@GRAD / "
        "Count of every mask that covers it, and 0 where there is none. "
        "Out@GRAD of an empty mask has no effect.",
    .inputs = {ShapeOf("Embedding"), "Mask"},
    .wanted = {"Embedding"},
    .dims = EmbeddingMaskShape};

}  // namespace

REGISTER_OPERATOR(average_embedding_mask,
                  WithGradient<kAverageEmbeddingMaskGrad>);
REGISTER_OPERATOR(average_embedding_mask_grad,
                  GradientSchema<kAverageEmbeddingMaskGrad>);

}  // namespace sluice
