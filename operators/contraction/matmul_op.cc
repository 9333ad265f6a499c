#include "sluice/operators/contraction/matmul.h"
#include "sluice/operators/contraction/matmul_kernel.h"
#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/operators/usual_shapes.h"

// There are two gradient ops, each one GEMM: the plan chooses a kernel for each
// and removes one that is not needed. They are not matmul ops themselves:
// broadcast batch dimensions have to be summed over, and a gradient maker does
// not know shapes.
namespace sluice {
namespace {

DDim MatmulDims(const InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 1);
  const ShapeHandle y = context.WithRankAtLeast(context.input("Y"), 1);
  if (!x.dims.rank_known() || !y.dims.rank_known()) return DDim::UnknownRank();
  const bool transpose_x = context.Attr<bool>("transpose_X");
  const bool transpose_y = context.Attr<bool>("transpose_Y");
  const StoredMatrix a = StoredX(x), b = StoredY(y);
  const int64_t a_depth = transpose_x ? a.rows : a.columns;
  const int64_t b_depth = transpose_y ? b.columns : b.rows;
  context.Require(
      a_depth == b_depth || a_depth == kUnknownDim || b_depth == kUnknownDim,
      "matmul.depth",
      "the products of input X {}{} and input Y {}{} need the same number of "
      "terms on both sides, got {} and {}",
      x.dims, transpose_x ? " transposed" : "", y.dims,
      transpose_y ? " transposed" : "", a_depth, b_depth);
  DDim out;
  const int conflict = BroadcastShape(a.batch, b.batch, -1, &out);
  context.Require(conflict < 0, "matmul.batch",
                  "the batch dimensions of input X {} and input Y {} have to "
                  "be equal or 1, counted from the last, got {} and {}",
                  x.dims, y.dims, a.batch, b.batch);
  if (x.rank() > 1 || transpose_x) {
    out.InsertDim(out.rank(), transpose_x ? a.columns : a.rows);
  }
  if (y.rank() > 1 || transpose_y) {
    out.InsertDim(out.rank(), transpose_y ? b.rows : b.columns);
  }
  return out;
}

// Whether rows are those of matrix X, or the first dim of a batch.
bool RowWise(const OpDesc& op, const DDim& x) {
  return x.rank_known() &&
         (x.rank() > 2 || (x.rank() == 2 && IsOff(op, "transpose_X")));
}

void MatmulSchema(OpSchema& op) {
  op.Doc(
      "Products of matrices, Out = alpha X Y, for each index of the dimensions "
      "before the last two; those are repeated where they are 1 or missing, as "
      "in numpy.matmul. A vector X is a row, a vector Y is a column, and that "
      "row or column is no dimension of Out; transposed, a vector X is a "
      "column and a vector Y is a row, which is one.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "[..., m, k], [..., k, m] if transposed, or [k].");
  op.Input("Y", "T", "[..., k, n], [..., n, k] if transposed, or [k].");
  op.Output("Out", "T", "[..., m, n]: the products.");
  op.Attr<bool>("transpose_X", "Swaps the last two dimensions of X.")
      .Default(false);
  op.Attr<bool>("transpose_Y", "Swaps the last two dimensions of Y.")
      .Default(false);
  op.Attr<double>("alpha", "Multiplies the products.").Default(1.0);
  op.InferShape(OutShape<MatmulDims>);
  op.SharesRows("Out", {"X", "Y"}, RowWise);
  op.Product().FusedAs("fused_matmul");
  op.Sizes({{"X", "n, n"}, {"Y", "n, n"}});
}

constexpr GradientOp kMatmulGradX = {
    .forward = MatmulSchema,
    .doc =
        "The gradient of matmul's X: Out@GRAD times Y transposed, summed where "
        "X was repeated.",
    .suffix = "_grad_x",
    .inputs = {ShapeOf("X"), "Y"},
    .wanted = {"X"},
    .dims = MatmulDims};

constexpr GradientOp kMatmulGradY = {
    .forward = MatmulSchema,
    .doc =
        "The gradient of matmul's Y: X transposed times Out@GRAD, summed where "
        "Y was repeated.",
    .suffix = "_grad_y",
    .inputs = {"X", ShapeOf("Y")},
    .wanted = {"Y"},
    .dims = MatmulDims,
    .add = [](OpSchema& op) { op.AddsUp(); }};

}  // namespace

REGISTER_OPERATOR(matmul, (WithGradient<kMatmulGradX, kMatmulGradY>));
REGISTER_OPERATOR(matmul_grad_x, GradientSchema<kMatmulGradX>);
REGISTER_OPERATOR(matmul_grad_y, GradientSchema<kMatmulGradY>);
REGISTER_OP_CPU_KERNEL(matmul,
                       EstimatedBy<&MatmulWork<Matmul, MatmulOut>>,
                       MatmulKernel<Matmul, MatmulOut, FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(
    matmul_grad_x,
    EstimatedBy<&MatmulWork<Matmul, MatmulXGrad>>,
    MatmulKernel<Matmul, MatmulXGrad, FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(
    matmul_grad_y,
    EstimatedBy<&MatmulWork<Matmul, MatmulYGrad>>,
    MatmulKernel<Matmul, MatmulYGrad, FloatsAndWidenedHalves>);

}  // namespace sluice
