#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/embedding_mask_shape.h"

namespace sluice {
namespace {

void AverageEmbeddingMaskShape(InferShapeContext& context) {
  const DDim mean = EmbeddingMaskShape(context);
  context.SetOutput("Out", mean);
  context.SetOutput("Count", context.Matrix(mean[0], mean[1]));
}

void AverageEmbeddingMaskGradShape(InferShapeContext& context) {
  context.Merge(context.input("Out@GRAD"), {EmbeddingMaskShape(context), -1});
  context.SetOutput("Embedding@GRAD", context.input("Embedding"));
}

std::vector<OpDesc> AverageEmbeddingMaskGradient(const OpDesc& forward) {
  return {MakeGradOp(forward, "average_embedding_mask_grad",
                     {.inputs = {"Embedding", "Mask"},
                      .output_grads = {"Out"},
                      .wanted = {"Embedding"}})};
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
  op.InferShape(AverageEmbeddingMaskShape)
      .Gradient(AverageEmbeddingMaskGradient);
}

void AverageEmbeddingMaskGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of average_embedding_mask: each pixel gets Out@GRAD / "
      "Count of every mask that covers it, and 0 where there is none.");
  EmbeddingMaskInputs(op, {.shape_only = true});
  op.Input("Out@GRAD", "T", "[B, M, N]. That of an empty mask has no effect.");
  op.Output("Embedding@GRAD", "T", "[B, X, Y, N].");
  op.InferShape(AverageEmbeddingMaskGradShape);
}

}  // namespace

REGISTER_OPERATOR(average_embedding_mask, AverageEmbeddingMaskSchema);
REGISTER_OPERATOR(average_embedding_mask_grad, AverageEmbeddingMaskGradSchema);

}  // namespace sluice
