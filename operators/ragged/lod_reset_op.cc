#include "sluice/operators/ragged/sequences.h"

namespace sluice {
namespace {

void LodResetShape(InferShapeContext& context) {
  SequenceCount(context);
  context.SetOutput("Out", RowsOf(context));
}

std::vector<OpDesc> LodResetGradient(const OpDesc& forward) {
  OpDesc same =
      MakeGradOp(forward, "assign", {.output_grads = {"Out"}, .wanted = {"X"}});
  same.inputs[0].first = "X";
  same.outputs[0].first = "Out";
  return {same};
}

void LodResetSchema(OpSchema& op) {
  op.Doc("X with other offsets: its rows cut in another way.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "[N, ...], ragged or not.");
  OffsetsInput(op, "X", "XOffsets");
  op.Input("Offsets", "int64",
           "[B + 1]: the new offsets; they end where the rows of X do.",
           {.host = true});
  op.Output("Out", "T", "X.");
  op.Ragged("Out", "Offsets").Alias("Out", "X");
  op.InferShape(LodResetShape).Gradient(LodResetGradient);
}

// Shapes that depend on offsets.
void OneNumber(InferShapeContext& context) {
  SequenceCount(context);
  if (context.op() == "sequence_expand_rows") {
    SequenceCount(context, "YOffsets", "Y");
  }
  context.SetOutput("Out", DDim{1});
}

void LongestSchema(OpSchema& op) {
  op.Doc("The length of the longest sequence; 0 without sequences.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "[N, ...]: ragged rows.", {.shape_only = true});
  OffsetsInput(op);
  op.Output("Out", "int64", "[1].");
  op.InferShape(OneNumber);
}

void ExpandRowsSchema(OpSchema& op) {
  op.Doc(
      "The rows of sequence_expand's output, rounded up to one of few "
      "capacities: 16, 20, 25, 31 and so on.");
  op.TypeVar("T", AllDTypes()).TypeVar("S", AllDTypes());
  op.Input("X", "T", "[N, ...]: ragged rows.", {.shape_only = true});
  op.Input("Y", "S", "[M, ...]: ragged rows.", {.shape_only = true});
  OffsetsInput(op);
  OffsetsInput(op, "Y", "YOffsets");
  op.Output("Out", "int64", "[1].");
  op.InferShape(OneNumber);
}

}  // namespace

REGISTER_OPERATOR(lod_reset, LodResetSchema);
REGISTER_OPERATOR(sequence_longest, LongestSchema);
REGISTER_OPERATOR(sequence_expand_rows, ExpandRowsSchema);

}  // namespace sluice
