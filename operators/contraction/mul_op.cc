#include "sluice/operators/contraction/matmul_kernel.h"
#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

// There are two gradient ops, each one GEMM: the plan chooses a kernel for each
// and removes one that is not needed. They are not matmul ops themselves: X and
// Y have to be flattened by their ranks, which a gradient maker does not know.
namespace sluice {
namespace {

// Returns the product of the sizes, or unknown.
int64_t Flattened(const DDim& dims) {
  return dims.known() ? dims.numel() : kUnknownDim;
}

// Returns the first dimension of input `name` that forms the columns.
int Split(const InferShapeContext& context,
          const DDim& dims,
          char name,
          int64_t row_dims) {
  context.Require(row_dims < dims.rank(), "mul.num_col_dims",
                  "attribute {}_num_col_dims = {} leaves no dimension of input "
                  "{} {} for the columns; expected less than its rank",
                  name == 'X' ? 'x' : 'y', row_dims, name, dims);
  return static_cast<int>(row_dims);
}

DDim MulDims(const InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 2);
  const ShapeHandle y = context.WithRankAtLeast(context.input("Y"), 2);
  if (!x.dims.rank_known() || !y.dims.rank_known()) return DDim::UnknownRank();
  const int x_split =
      Split(context, x, 'X', context.Attr<int64_t>("x_num_col_dims"));
  const int y_split =
      Split(context, y, 'Y', context.Attr<int64_t>("y_num_col_dims"));
  const DDim x_columns = x.dims.Subshape(x_split, x.rank());
  const DDim y_rows = y.dims.Subshape(0, y_split);
  const int64_t columns = Flattened(x_columns), rows = Flattened(y_rows);
  context.Require(
      columns == rows || columns == kUnknownDim || rows == kUnknownDim,
      "mul.depth",
      "input X {} has {} columns {} and input Y {} has {} rows {}; expected as "
      "many",
      x.dims, columns, x_columns, y.dims, rows, y_rows);
  DDim out = x.dims.Subshape(0, x_split);
  context.Require(
      out.rank() + y.rank() - y_split <= DDim::kMaxRank, "mul.out_rank",
      "the product of input X {} and input Y {} would have rank "
      "{}; expected at most {}",
      x.dims, y.dims, out.rank() + y.rank() - y_split, DDim::kMaxRank);
  for (int axis = y_split; axis < y.rank(); ++axis) {
    out.InsertDim(out.rank(), y.dims[axis]);
  }
  return out;
}

void MulSchema(OpSchema& op) {
  op.Doc("The product of two matrices into which X and Y are flattened.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "Of rank 2 or more.");
  op.Input("Y", "T",
           "Of rank 2 or more: as many rows as X has columns, flattened.");
  op.Output("Out", "T",
            "X's first x_num_col_dims dimensions, then Y's others.");
  op.Attr<int64_t>("x_num_col_dims",
                   "How many of X's first dimensions make the rows of the "
                   "matrix; the others make its columns.")
      .Default(int64_t{1})
      .AtLeast(1);
  op.Attr<int64_t>("y_num_col_dims",
                   "The number of leading dims of Y that are its rows.")
      .Default(int64_t{1})
      .AtLeast(1);
  op.InferShape(OutShape<MulDims>).SharesRows("Out", {"X"});
  op.Product().FusedAs("fused_mul");
  op.Sizes({{"X", "32, n"}, {"Y", "n, n"}});
}

constexpr GradientOp kMulGradX = {
    .forward = MulSchema,
    .doc = "The gradient of mul's X: Out@GRAD times Y transposed.",
    .suffix = "_grad_x",
    .inputs = {ShapeOf("X"), "Y"},
    .wanted = {"X"},
    .dims = MulDims};

constexpr GradientOp kMulGradY = {
    .forward = MulSchema,
    .doc = "The gradient of mul's Y: X transposed times Out@GRAD.",
    .suffix = "_grad_y",
    .inputs = {"X", ShapeOf("Y")},
    .wanted = {"Y"},
    .dims = MulDims,
    .add = [](OpSchema& op) { op.AddsUp("x_num_col_dims"); }};

}  // namespace

REGISTER_OPERATOR(mul, (WithGradient<kMulGradX, kMulGradY>));
REGISTER_OPERATOR(mul_grad_x, GradientSchema<kMulGradX>);
REGISTER_OPERATOR(mul_grad_y, GradientSchema<kMulGradY>);
REGISTER_OP_CPU_KERNEL(mul,
                       EstimatedBy<&MatmulWork<Mul, MatmulOut>>,
                       MatmulKernel<Mul, MatmulOut, FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(mul_grad_x,
                       EstimatedBy<&MatmulWork<Mul, MatmulXGrad>>,
                       MatmulKernel<Mul, MatmulXGrad, FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(mul_grad_y,
                       EstimatedBy<&MatmulWork<Mul, MatmulYGrad>>,
                       MatmulKernel<Mul, MatmulYGrad, FloatsAndWidenedHalves>);

}  // namespace sluice
