#include "sluice/operators/ragged/sequences.h"

namespace sluice {
namespace {

void SoftmaxShape(InferShapeContext& context) {
  SequenceCount(context);
  context.SetOutput("Out", RowsOf(context));
}

void SoftmaxGradShape(InferShapeContext& context) {
  SequenceCount(context, "Offsets", "Out");
  const ShapeHandle out = context.WithRankAtLeast(context.input("Out"), 1);
  context.Merge(out, context.input("Out@GRAD"));
  context.SetOutput("X@GRAD", out);
}

std::vector<OpDesc> SoftmaxGradient(const OpDesc& forward) {
  return {MakeGradOp(forward, "sequence_softmax_grad",
                     {.inputs = {"Offsets"},
                      .outputs = {"Out"},
                      .output_grads = {"Out"},
                      .wanted = {"X"}})};
}

void SoftmaxSchema(OpSchema& op) {
  op.Doc(
      "The softmax over the rows of each sequence, column by column; Fluid's "
      "has one column.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "[N, ...]: ragged rows.");
  OffsetsInput(op);
  op.Output("Out", "T", "In X's shape.");
  op.Ragged("Out", "Offsets");
  op.InferShape(SoftmaxShape).Gradient(SoftmaxGradient);
}

void SoftmaxGradSchema(OpSchema& op) {
  op.Doc("The gradient of sequence_softmax; 0 for padding.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("Out", "T", "What sequence_softmax gave.");
  OffsetsInput(op, "Out");
  op.Input("Out@GRAD", "T", "In Out's shape.");
  op.Output("X@GRAD", "T", "In Out's shape.");
  op.InferShape(SoftmaxGradShape);
}

}  // namespace

REGISTER_OPERATOR(sequence_softmax, SoftmaxSchema);
REGISTER_OPERATOR(sequence_softmax_grad, SoftmaxGradSchema);

}  // namespace sluice
