#include "sluice/operators/unary_op.h"

namespace sluice::operators {
namespace {

using framework::OpSchema;

void ExpSchema(OpSchema& op) {
  UnarySchema(op, "Out = e^X, element by element.", GradientFromOut);
}

void ExpGradSchema(OpSchema& op) {
  UnaryGradSchema(op, "The gradient of exp: Out@GRAD * Out.", "Out");
}

}  // namespace

REGISTER_OPERATOR(exp, ExpSchema);
REGISTER_OPERATOR(exp_grad, ExpGradSchema);

}  // namespace sluice::operators
