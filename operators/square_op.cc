#include "sluice/operators/unary_op.h"

namespace sluice::operators {
namespace {

using framework::OpSchema;

void SquareSchema(OpSchema& op) {
  UnarySchema(op, "Out = X * X, element by element.", GradientFromX);
}

void SquareGradSchema(OpSchema& op) {
  UnaryGradSchema(op, "The gradient of square: Out@GRAD * 2 * X.", "X");
}

}  // namespace

REGISTER_OPERATOR(square, SquareSchema);
REGISTER_OPERATOR(square_grad, SquareGradSchema);

}  // namespace sluice::operators
