#include "sluice/operators/unary_op.h"

namespace sluice::operators {
namespace {

using framework::OpSchema;

void TanhSchema(OpSchema& op) {
  UnarySchema(op, "Out = tanh X, element by element.", GradientFromOut);
}

void TanhGradSchema(OpSchema& op) {
  UnaryGradSchema(op, "The gradient of tanh: Out@GRAD * (1 - Out * Out).",
                  "Out");
}

}  // namespace

REGISTER_OPERATOR(tanh, TanhSchema);
REGISTER_OPERATOR(tanh_grad, TanhGradSchema);

}  // namespace sluice::operators
