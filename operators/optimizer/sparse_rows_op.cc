#include "sluice/operators/registration.h"
#include "sluice/operators/sparse_rows.h"

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

void MergeRowsShape(InferShapeContext& context) {
  const ShapeHandle x = SparseRowsOf(context, "X", "X");
  context.SetOutput("Out", x);
  context.SetOutput("RowsOut",
                    DDim({x.dims.rank_known() ? x.dims[0] : kUnknownDim}));
}

void RowsToDenseShape(InferShapeContext& context) {
  SparseRowsOf(context, "X", "Like");
  context.SetOutput("Out", context.input("Like"));
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
