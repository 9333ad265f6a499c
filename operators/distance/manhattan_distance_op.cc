#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void ManhattanDistanceShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRank(context.input("X"), 2);
  const ShapeHandle y = context.WithRank(context.input("Y"), 2);
  context.Merge(context.Dim(x, 1), context.Dim(y, 1));
  context.SetOutput(
      "Out", context.Matrix(context.Dim(x, 0).size, context.Dim(y, 0).size));
}

std::vector<OpDesc> ManhattanDistanceGradient(const OpDesc& forward) {
  return MakeGradOp(forward, {"X", "Y"});
}

void ManhattanDistanceSchema(OpSchema& op) {
  op.Doc(
      "The distance of every row of X to every row of Y in the L1 norm: "
      "Out[i, j] is the sum over k of |X[i, k] - Y[j, k]|. Rows without "
      "elements are at distance 0.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "[n, p]: n points.");
  op.Input("Y", "T", "[m, p]: m points.");
  op.Output("Out", "T", "[n, m]: the distances.");
  op.InferShape(ManhattanDistanceShape).Gradient(ManhattanDistanceGradient);
  op.Sizes({{"X", "n, 64"}, {"Y", "n, 64"}});
}

void ManhattanDistanceGradShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRank(context.input("X"), 2);
  const ShapeHandle y = context.WithRank(context.input("Y"), 2);
  const ShapeHandle grad = context.WithRank(context.input("Out@GRAD"), 2);
  const DimHandle width = context.Merge(context.Dim(x, 1), context.Dim(y, 1));
  const DimHandle n = context.Merge(context.Dim(x, 0), context.Dim(grad, 0));
  const DimHandle m = context.Merge(context.Dim(y, 0), context.Dim(grad, 1));
  context.SetOutput("X@GRAD", context.Matrix(n.size, width.size));
  context.SetOutput("Y@GRAD", context.Matrix(m.size, width.size));
}

void ManhattanDistanceGradSchema(OpSchema& op) {
  op.Doc(
      "The gradients of manhattan_distance: X@GRAD[i, k] is the sum over j of "
      "Out@GRAD[i, j] * sign(X[i, k] - Y[j, k]), and Y@GRAD[j, k] the sum over "
      "i of the same with the other sign; sign(0) is 0.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "[n, p]: as given to manhattan_distance.");
  op.Input("Y", "T", "[m, p]: as given to manhattan_distance.");
  op.Input("Out@GRAD", "T", "[n, m]: the gradient of the distances.");
  op.Output("X@GRAD", "T", "[n, p]: the gradient of X.", {.optional = true});
  op.Output("Y@GRAD", "T", "[m, p]: the gradient of Y.", {.optional = true});
  op.InferShape(ManhattanDistanceGradShape);
}

}  // namespace

REGISTER_OPERATOR(manhattan_distance, ManhattanDistanceSchema);
REGISTER_OPERATOR(manhattan_distance_grad, ManhattanDistanceGradSchema);

}  // namespace sluice
