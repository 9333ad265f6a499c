#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

DDim DistanceDims(const InferShapeContext& context) {
  const ShapeHandle x = context.WithRank(context.input("X"), 2);
  const ShapeHandle y = context.WithRank(context.input("Y"), 2);
  context.Merge(context.Dim(x, 1), context.Dim(y, 1));
  return {context.Dim(x, 0).size, context.Dim(y, 0).size};
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
  op.InferShape(OutShape<DistanceDims>);
  op.Sizes({{"X", "n, 64"}, {"Y", "n, 64"}});
}

constexpr GradientOp kManhattanDistanceGrad = {
    .forward = ManhattanDistanceSchema,
    .doc =
        "The gradients of manhattan_distance: X@GRAD[i, k] is the sum over j "
        "of Out@GRAD[i, j] * sign(X[i, k] - Y[j, k]), and Y@GRAD[j, k] the sum "
        "over i of the same with the other sign; sign(0) is 0.",
    .inputs = {"X", "Y"},
    .wanted = {"X", "Y"},
    .dims = DistanceDims};

}  // namespace

REGISTER_OPERATOR(manhattan_distance, WithGradient<kManhattanDistanceGrad>);
REGISTER_OPERATOR(manhattan_distance_grad,
                  GradientSchema<kManhattanDistanceGrad>);

}  // namespace sluice
