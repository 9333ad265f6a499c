#include "sluice/operators/unary_op.h"

namespace sluice::operators {
namespace {

using framework::OpSchema;

void SqrtSchema(OpSchema& op) {
  UnarySchema(op,
              "Out = the square root of X, element by element: NaN of negative "
              "numbers.",
              GradientFromOut);
}

void SqrtGradSchema(OpSchema& op) {
  UnaryGradSchema(op, "The gradient of sqrt: Out@GRAD / (2 * Out).", "Out");
}

}  // namespace

REGISTER_OPERATOR(sqrt, SqrtSchema);
REGISTER_OPERATOR(sqrt_grad, SqrtGradSchema);

}  // namespace sluice::operators
