#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/crf_shape.h"

namespace sluice {
namespace {

DDim CrfLossDims(const InferShapeContext& context) {
  return {CrfBatch(context), 1};
}

void CrfSchema(OpSchema& op) {
  op.Doc(
      "The cost of a linear-chain conditional random field: LogLikelihood is, "
      "as in Fluid and in spite of its name, the negative logarithm of the "
      "probability of the right tags, to be minimised.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  CrfInputs(op);
  op.Input("Label", "int64",
           "[B, T] or ragged [rows, 1]: the right tags; those past a "
           "sequence's length are not read.");
  CrfLengths(op);
  op.Ragged("Label", "Offsets");
  op.Output("LogLikelihood", "T", "[B, 1]: -log P(Label | Emission).");
  op.PerSequence("LogLikelihood", "Offsets");
  op.InferShape([](InferShapeContext& context) {
    context.SetOutput("LogLikelihood", CrfLossDims(context));
  });
}

constexpr GradientOp kCrfGrad = {
    .forward = CrfSchema,
    .doc =
        "The gradient of linear_chain_crf, exact, by a pass forward and one "
        "back; 0 past the sequences' lengths.",
    .inputs = {"Emission", "Transition", "Label", "Length", "Offsets"},
    .output_grads = {"LogLikelihood"},
    .wanted = {"Emission", "Transition"},
    .dims = CrfLossDims};

}  // namespace

REGISTER_OPERATOR(linear_chain_crf, WithGradient<kCrfGrad>);
REGISTER_OPERATOR(linear_chain_crf_grad, GradientSchema<kCrfGrad>);

}  // namespace sluice
