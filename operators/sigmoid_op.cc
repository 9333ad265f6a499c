#include "sluice/operators/unary_op.h"

namespace sluice::operators {
namespace {

using framework::OpSchema;

void SigmoidSchema(OpSchema& op) {
  UnarySchema(op, "Out = 1 / (1 + e^-X), element by element.", GradientFromOut);
}

void SigmoidGradSchema(OpSchema& op) {
  UnaryGradSchema(op, "The gradient of sigmoid: Out@GRAD * Out * (1 - Out).",
                  "Out");
}

}  // namespace

REGISTER_OPERATOR(sigmoid, SigmoidSchema);
REGISTER_OPERATOR(sigmoid_grad, SigmoidGradSchema);

}  // namespace sluice::operators
