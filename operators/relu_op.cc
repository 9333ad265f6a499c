#include "sluice/operators/unary_op.h"

namespace sluice::operators {
namespace {

using framework::OpSchema;

void ReluSchema(OpSchema& op) {
  UnarySchema(op, "Out = max(X, 0), element by element. NaN stays NaN.",
              GradientFromOut);
}

void ReluGradSchema(OpSchema& op) {
  UnaryGradSchema(
      op, "The gradient of relu: Out@GRAD where Out is more than 0, else 0.",
      "Out");
}

}  // namespace

REGISTER_OPERATOR(relu, ReluSchema);
REGISTER_OPERATOR(relu_grad, ReluGradSchema);

}  // namespace sluice::operators
