#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/crf_shape.h"

namespace sluice {
namespace {

void CrfShape(InferShapeContext& context) {
  context.SetOutput("LogLikelihood", {CrfBatch(context), 1});
}

void CrfGradShape(InferShapeContext& context) {
  context.Merge(context.input("LogLikelihood@GRAD"),
                {DDim{CrfBatch(context), 1}, -1});
  context.SetOutput("Emission@GRAD", context.input("Emission"));
  context.SetOutput("Transition@GRAD", context.input("Transition"));
}

std::vector<OpDesc> CrfGradient(const OpDesc& forward) {
  return {MakeGradOp(
      forward, "linear_chain_crf_grad",
      {.inputs = {"Emission", "Transition", "Label", "Length", "Offsets"},
       .output_grads = {"LogLikelihood"},
       .wanted = {"Emission", "Transition"}})};
}

void Inputs(OpSchema& op) {
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  CrfInputs(op);
  op.Input("Label", "int64",
           "[B, T] or ragged [rows, 1]: the right tags; those past a "
           "sequence's length are not read.");
  CrfLengths(op);
  op.Ragged("Label", "Offsets");
}

void CrfSchema(OpSchema& op) {
  op.Doc(
      "The cost of a linear-chain conditional random field: LogLikelihood is, "
      "as in Fluid and in spite of its name, the negative logarithm of the "
      "probability of the right tags, to be minimised.");
  Inputs(op);
  op.Output("LogLikelihood", "T", "[B, 1]: -log P(Label | Emission).");
  op.PerSequence("LogLikelihood", "Offsets");
  op.InferShape(CrfShape).Gradient(CrfGradient);
}

void CrfGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of linear_chain_crf, exact, by a pass forward and one "
      "back; 0 past the sequences' lengths.");
  Inputs(op);
  op.Input("LogLikelihood@GRAD", "T", "[B, 1].");
  op.Output("Emission@GRAD", "T", "In Emission's shape.", {.optional = true});
  op.Output("Transition@GRAD", "T", "[N + 2, N].", {.optional = true});
  op.InferShape(CrfGradShape);
}

}  // namespace

REGISTER_OPERATOR(linear_chain_crf, CrfSchema);
REGISTER_OPERATOR(linear_chain_crf_grad, CrfGradSchema);

}  // namespace sluice
