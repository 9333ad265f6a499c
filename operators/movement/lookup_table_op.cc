#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

DDim OutDims(const InferShapeContext& context) {
  const ShapeHandle w = context.WithRank(context.input("W"), 2);
  const ShapeHandle ids = context.input("Ids");
  const auto padding = context.Attr<int64_t>("padding_idx");
  const int64_t rows = context.Dim(w, 0).size;
  context.Require(rows < 0 || padding < rows, "lookup_table.padding_idx",
                  "attribute padding_idx = {} is no row of input W {}; "
                  "expected -1 for none, or 0 to {}",
                  padding, w.dims, rows - 1);
  if (!ids.dims.rank_known()) return DDim::UnknownRank();
  DDim out = ids;
  if (out.rank() > 1 && out[out.rank() - 1] == 1 &&
      context.Attr<bool>("drop_last_dim")) {
    out.RemoveDimRange(out.rank() - 1, out.rank());
  }
  context.Require(out.rank() < DDim::kMaxRank, "lookup_table.rank",
                  "the rows for input Ids {} would have rank {}; expected at "
                  "most {}",
                  ids.dims, out.rank() + 1, DDim::kMaxRank);
  out.InsertDim(out.rank(), context.Dim(w, 1).size);
  return out;
}

void LookupTableGradShape(InferShapeContext& context) {
  context.Merge(context.input("Out@GRAD"), {OutDims(context), -1});
  context.SetOutput("W@GRAD", context.input("W"));
}

// One row for each id.
void LookupTableGradRowsShape(InferShapeContext& context) {
  const ShapeHandle grad =
      context.Merge(context.input("Out@GRAD"), {OutDims(context), -1});
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < grad.dims.rank(); ++axis) {
    const int64_t size = grad.dims[axis];
    rows = rows < 0 || size < 0 ? kUnknownDim : rows * size;
  }
  if (!grad.dims.rank_known()) rows = kUnknownDim;
  context.SetOutput("W@GRAD",
                    DDim({rows, context.Dim(context.input("W"), 1).size}));
  context.SetOutput("Rows", DDim({rows}));
}

std::vector<OpDesc> LookupTableGradient(const OpDesc& forward) {
  const bool sparse = std::get<bool>(forward.attributes.at("is_sparse"));
  OpDesc gradient = MakeGradOp(
      forward, sparse ? "lookup_table_grad_rows" : "lookup_table_grad",
      {.inputs = {"W", "Ids"}, .output_grads = {"Out"}, .wanted = {"W"}});
  gradient.attributes.erase("is_sparse");
  if (sparse) {
    const std::string& grad = gradient.outputs[0].second[0];
    gradient.outputs.push_back({"Rows", {grad + "@ROWS"}});
  }
  return {std::move(gradient)};
}

void Attributes(OpSchema& op) {
  op.Attr<int64_t>("padding_idx",
                   "The id of rows that are all 0 in Out and learn nothing; "
                   "-1 for none.")
      .Default(int64_t{-1})
      .AtLeast(-1);
  op.Attr<bool>("drop_last_dim",
                "A last dimension of Ids of size 1 is no dimension of Out. "
                "False where its size is known only when the program runs.")
      .Default(true);
}

void IdsInput(OpSchema& op) {
  op.Input("Ids", "S",
           "[..., 1] or [...]: rows of W, 0 to V - 1; checked when the op "
           "runs.");
}

void LookupTableSchema(OpSchema& op) {
  op.Doc("Picks rows of a table: Out[i, ...] = W[Ids[i], ...].");
  op.TypeVar("T", FloatDTypes()).TypeVar("S", IndexDTypes());
  op.Input("W", "T", "[V, D]: the table.");
  IdsInput(op);
  op.Output("Out", "T", "[..., D]: the rows.");
  Attributes(op);
  op.Attr<bool>("is_sparse", "The gradient of W is sparse: a row for each id.")
      .Default(false);
  op.InferShape(OutShape<OutDims>).Gradient(LookupTableGradient);
  op.SharesRows("Out", {"Ids"});
  op.Sizes({{"W", "1000, n"}, {"Ids", "64, 1"}});
}

void GradientInputs(OpSchema& op) {
  op.TypeVar("T", FloatDTypes()).TypeVar("S", IndexDTypes());
  op.Input("W", "T", "As given to lookup_table.", {.shape_only = true});
  IdsInput(op);
  op.Input("Out@GRAD", "T", "[..., D]: the gradient of the rows.");
}

void LookupTableGradRowsSchema(OpSchema& op) {
  op.Doc(
      "The gradient of lookup_table's W as the rows that were picked: row "
      "Rows[i] of the table has the sum of all rows i of W@GRAD that it "
      "names.");
  GradientInputs(op);
  op.Output("W@GRAD", "T", "[N, D]: Out@GRAD, a row for each of the N ids.");
  op.Output("Rows", "int64", "[N]: the ids, and -1 for padding_idx.");
  Attributes(op);
  op.InferShape(LookupTableGradRowsShape).Alias("W@GRAD", "Out@GRAD");
  op.SparseRows("W@GRAD", "Rows");
}

void LookupTableGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of lookup_table's W: for each row the sum of the gradients "
      "of Out where it was picked, from the first to the last.");
  GradientInputs(op);
  op.Output("W@GRAD", "T", "[V, D]: the gradient of the table.");
  Attributes(op);
  op.InferShape(LookupTableGradShape);
}

}  // namespace

REGISTER_OPERATOR(lookup_table, LookupTableSchema);
REGISTER_OPERATOR(lookup_table_grad, LookupTableGradSchema);
REGISTER_OPERATOR(lookup_table_grad_rows, LookupTableGradRowsSchema);

}  // namespace sluice
