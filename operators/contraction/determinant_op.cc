#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Returns the batch dims of X and checks that its matrices are square.
DDim BatchDims(const InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 2);
  if (!x.dims.rank_known()) return DDim::UnknownRank();
  const int last = x.rank() - 1;
  const int64_t rows = x.dims[last - 1], columns = x.dims[last];
  context.Require(rows == columns || rows < 0 || columns < 0,
                  "determinant.square",
                  "input X {} has matrices of {} rows and {} columns; expected "
                  "as many rows as columns",
                  x.dims, rows, columns);
  return x.dims.Subshape(0, last - 1);
}

void DeterminantSchema(OpSchema& op) {
  op.Doc(
      "The determinant of each matrix of X, computed in float64 by elimination "
      "with complete pivoting; 1 for matrices of size 0. NaN where a matrix "
      "has one.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "[..., n, n].");
  op.Output("Out", "T", "The dims of X before the last two.");
  op.InferShape(OutShape<BatchDims>).Onnx({"Det", {}});
}

constexpr GradientOp kDeterminantGrad = {
    .forward = DeterminantSchema,
    .doc =
        "The gradient of determinant: Out@GRAD times the cofactors of X, which "
        "are det(X) times the transpose of its inverse where it has one. It is "
        "right for singular matrices, too, where PyTorch gives 0.",
    .inputs = {"X"},
    .dims = BatchDims};

}  // namespace

REGISTER_OPERATOR(determinant, WithGradient<kDeterminantGrad>);
REGISTER_OPERATOR(determinant_grad, GradientSchema<kDeterminantGrad>);

}  // namespace sluice
