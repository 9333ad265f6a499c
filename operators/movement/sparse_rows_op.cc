#include "sluice/operators/registration.h"

// Ops on sparse gradients (VarDesc::rows): row Rows[i] of a parameter has the
// sum of all rows i of X that name it.
namespace sluice {
namespace {

void SparseInputs(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "[N, ...]: the rows.");
  op.Input("Rows", "int64", "[N]: the row that each is added to, -1 for none.");
  op.NoGradient("it takes a gradient, and there are none of gradients");
}

// Returns X with the number of rows that both say.
ShapeHandle MergedInput(const InferShapeContext& context) {
  ShapeHandle x = context.WithRankAtLeast(context.input("X"), 1);
  const ShapeHandle rows = context.WithRank(context.input("Rows"), 1);
  if (!x.dims.rank_known()) return x;
  x.dims[0] = context.Merge(context.Dim(x, 0), context.Dim(rows, 0)).size;
  return x;
}

void MergeRowsShape(InferShapeContext& context) {
  const ShapeHandle x = MergedInput(context);
  context.SetOutput("Out", x);
  context.SetOutput("RowsOut",
                    DDim({x.dims.rank_known() ? x.dims[0] : kUnknownDim}));
}

void RowsToDenseShape(InferShapeContext& context) {
  const ShapeHandle x = MergedInput(context);
  const ShapeHandle like = context.WithRankAtLeast(context.input("Like"), 1);
  if (x.dims.rank_known()) {
    context.Merge(context.Subshape(x, 1), context.Subshape(like, 1));
  }
  context.SetOutput("Out", like);
}

void MergeRowsSchema(OpSchema& op) {
  op.Doc(
      "Adds up the rows of a sparse gradient that belong to the same row of "
      "the parameter, from the first to the last.");
  SparseInputs(op);
  op.Output("Out", "T", "[N, ...]: the sums, then rows of 0.");
  op.Output("RowsOut", "int64",
            "[N]: their rows, ascending and each once, then -1.");
  op.InferShape(MergeRowsShape).SparseRows("Out", "RowsOut");
}

void RowsToDenseSchema(OpSchema& op) {
  op.Doc(
      "Makes a sparse gradient dense: row Rows[i] of Out has the sum of all "
      "rows i of X that name it, from the first to the last, or 0.");
  SparseInputs(op);
  op.Input("Like", "T", "[V, ...]: what it is the gradient of.",
           {.shape_only = true});
  op.Output("Out", "T", "[V, ...]: the dense gradient.");
  op.InferShape(RowsToDenseShape).Serves(OpRole::kDense);
}

}  // namespace

REGISTER_OPERATOR(merge_rows, MergeRowsSchema);
REGISTER_OPERATOR(rows_to_dense, RowsToDenseSchema);

}  // namespace sluice
