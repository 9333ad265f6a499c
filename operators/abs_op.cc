#include "sluice/operators/unary_op.h"

namespace sluice::operators {
namespace {

using framework::OpSchema;

void AbsSchema(OpSchema& op) {
  UnarySchema(op, "Out = |X|, element by element.", GradientFromX);
}

void AbsGradSchema(OpSchema& op) {
  UnaryGradSchema(
      op, "The gradient of abs: Out@GRAD with the sign of X, 0 where X is 0.",
      "X");
}

}  // namespace

REGISTER_OPERATOR(abs, AbsSchema);
REGISTER_OPERATOR(abs_grad, AbsGradSchema);

}  // namespace sluice::operators
