#include "sluice/operators/op_gradients.h"
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

void LookupTableSchema(OpSchema& op);

constexpr GradientOp kLookupTableGrad = {
    .forward = LookupTableSchema,
    .doc =
        "The gradient of lookup_table's W: for each row the sum of the "
        "gradients of Out where it was picked, from the first to the last.",
    .inputs = {ShapeOf("W"), "Ids"},
    .wanted = {"W"},
    .without = {"is_sparse"},
    .dims = OutDims};

constexpr GradientOp kLookupTableGradRows = {
    .forward = LookupTableSchema,
    .doc =
        "The gradient of lookup_table's W as the rows that were picked: "
        "W@GRAD, [N, D], is Out@GRAD with a row for each of the N ids. Row "
        "Rows[i] of the table has the sum of all rows i of W@GRAD that it "
        "names.",
    .suffix = "_grad_rows",
    .inputs = {ShapeOf("W"), "Ids"},
    .wanted = {"W"},
    .without = {"is_sparse"},
    .shape = LookupTableGradRowsShape,
    .add = [](OpSchema& op) {
      op.Output("Rows", "int64", "[N]: the ids, and -1 for padding_idx.");
      op.Alias("W@GRAD", "Out@GRAD").SparseRows("W@GRAD", "Rows");
    }};

std::vector<OpDesc> LookupTableGradient(const OpDesc& forward) {
  if (!std::get<bool>(forward.attributes.at("is_sparse"))) {
    return {MakeGradient(forward, kLookupTableGrad)};
  }
  OpDesc sparse = MakeGradient(forward, kLookupTableGradRows);
  const std::string& grad = sparse.outputs[0].second[0];
  sparse.outputs.push_back({"Rows", {grad + "@ROWS"}});
  return {std::move(sparse)};
}

void LookupTableSchema(OpSchema& op) {
  op.Doc("Picks rows of a table: Out[i, ...] = W[Ids[i], ...].");
  op.TypeVar("T", FloatDTypes()).TypeVar("S", IndexDTypes());
  op.Input("W", "T", "[V, D]: the table.");
  op.Input("Ids", "S",
           "[..., 1] or [...]: rows of W, 0 to V - 1; checked when the op "
           "runs.");
  op.Output("Out", "T", "[..., D]: the rows.");
  op.Attr<int64_t>("padding_idx",
                   "The id of rows that are all 0 in Out and learn nothing; "
                   "-1 for none.")
      .Default(int64_t{-1})
      .AtLeast(-1);
  op.Attr<bool>("drop_last_dim",
                "A last dimension of Ids of size 1 is no dimension of Out. "
                "False where its size is known only when the program runs.")
      .Default(true);
  op.Attr<bool>("is_sparse", "The gradient of W is sparse: a row for each id.")
      .Default(false);
  op.InferShape(OutShape<OutDims>).Gradient(LookupTableGradient);
  op.SharesRows("Out", {"Ids"});
  op.Sizes({{"W", "1000, n"}, {"Ids", "64, 1"}});
}

}  // namespace

REGISTER_OPERATOR(lookup_table, LookupTableSchema);
REGISTER_OPERATOR(lookup_table_grad, GradientSchema<kLookupTableGrad>);
REGISTER_OPERATOR(lookup_table_grad_rows, GradientSchema<kLookupTableGradRows>);

}  // namespace sluice
