#include "sluice/operators/op_gradients.h"
#include "sluice/operators/ragged/sequences.h"

namespace sluice {
namespace {

void CheckRows(const InferShapeContext& context, const ShapeHandle& x) {
  const int64_t count = SequenceCount(context, "Offsets", "Ids");
  const DDim ids = RowsOf(context, "Ids");
  context.Require(!ids.known() || RowWidth(ids) == 1, "sequence_scatter.ids",
                  "input Ids must be [N] or [N, 1], got {}", ids);
  const DDim& dims = x;
  context.Require(
      !dims.rank_known() || dims[0] < 0 || count < 0 || dims[0] == count,
      "sequence_scatter.rows",
      "input X {} must have a row for each of the {} sequences of "
      "Ids",
      dims, count);
}

void ScatterShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRank(context.input("X"), 2);
  CheckRows(context, x);
  const DDim updates = RowsOf(context, "Updates");
  const DDim ids = RowsOf(context, "Ids");
  context.Require(
      !updates.known() || !ids.known() || updates.numel() == ids.numel(),
      "sequence_scatter.updates",
      "inputs Updates {} and Ids {} must have as many elements", updates, ids);
  context.SetOutput("Out", x);
}

void ScatterGradShape(InferShapeContext& context) {
  const ShapeHandle grad = context.WithRank(context.input("Out@GRAD"), 2);
  CheckRows(context, grad);
  context.SetOutput("Updates@GRAD", context.input("Updates"));
}

void ScatterSchema(OpSchema& op);

constexpr GradientOp kSequenceScatterGrad = {
    .forward = ScatterSchema,
    .doc = "The gradient of sequence_scatter's Updates; 0 for padding.",
    .inputs = {"Ids", "Offsets", ShapeOf("Updates")},
    .wanted = {"Updates"},
    .shape = ScatterGradShape};

// The gradient of X is that of Out.
std::vector<OpDesc> ScatterGradient(const OpDesc& forward) {
  return {GradientThrough(forward, forward.Input("X")[0], "assign", {}),
          MakeGradient(forward, kSequenceScatterGrad)};
}

void ScatterSchema(OpSchema& op) {
  op.Doc("Out = X, plus Updates[i] at column Ids[i] of its sequence's row.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "[B, D].");
  op.Input("Ids", "S", "[N] or [N, 1], ragged: a column of X for each update.",
           {.host = true});
  op.TypeVar("S", IndexDTypes());
  OffsetsInput(op, "Ids");
  op.Input("Updates", "T", "[N] or [N, 1], ragged as Ids.");
  op.Output("Out", "T", "In X's shape.");
  op.Ragged("Updates", "Offsets").PerSequence("X", "Offsets");
  op.PerSequence("Out", "Offsets");
  op.InferShape(ScatterShape).Gradient(ScatterGradient);
}

}  // namespace

REGISTER_OPERATOR(sequence_scatter, ScatterSchema);
REGISTER_OPERATOR(sequence_scatter_grad, GradientSchema<kSequenceScatterGrad>);

}  // namespace sluice
