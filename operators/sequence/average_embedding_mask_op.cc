#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::DimHandle;
using framework::InferShapeContext;
using framework::OpSchema;
using framework::ShapeHandle;
using platform::DType;

void AverageEmbeddingMaskShape(InferShapeContext& context) {
  const ShapeHandle embedding = context.WithRank(context.input("Embedding"), 4);
  const ShapeHandle mask = context.WithRank(context.input("Mask"), 4);
  context.WithValue(context.Dim(mask, 3), 2);
  const DimHandle batch =
      context.Merge(context.Dim(embedding, 0), context.Dim(mask, 0));
  context.Merge(context.Dim(embedding, 1), context.Dim(mask, 2));

  const int64_t masks = context.Dim(mask, 1).size;
  DDim mean = embedding;
  mean.RemoveDimRange(1, -2);
  mean.InsertDim(1, masks);
  mean[0] = batch.size;
  context.SetOutput("Out", mean);
  context.SetOutput("Count", context.Matrix(batch.size, masks));
}

void AverageEmbeddingMaskSchema(OpSchema& op) {
  op.Doc(
      "The mean of the embeddings of the pixels that each mask covers. A mask "
      "is run-length coded: for every x one run along Y, from its start up to "
      "its end, which is not part of it. An empty mask has mean 0 and count "
      "0.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.TypeVar("S", {DType::kInt32, DType::kInt64});
  op.Input("Embedding", "T", "[B, X, Y, N]: N features for each pixel.");
  op.Input("Mask", "S",
           "[B, M, X, 2]: start and end of the run of each x, with "
           "0 <= start <= end <= Y; M masks an image.");
  op.Output("Out", "T", "[B, M, N]: the mean of each mask.");
  op.Output("Count", "int64", "[B, M]: the number of pixels of each mask.");
  op.InferShape(AverageEmbeddingMaskShape);
}

}  // namespace

REGISTER_OPERATOR(average_embedding_mask, AverageEmbeddingMaskSchema);

}  // namespace sluice::operators
