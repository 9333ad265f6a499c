#include "sluice/operators/unary_op.h"

namespace sluice::operators {
namespace {

using framework::OpSchema;

void LogSchema(OpSchema& op) {
  UnarySchema(op,
              "Out = ln X, element by element: -infinity of 0, NaN of negative "
              "numbers.",
              GradientFromX);
}

void LogGradSchema(OpSchema& op) {
  UnaryGradSchema(op, "The gradient of log: Out@GRAD / X.", "X");
}

}  // namespace

REGISTER_OPERATOR(log, LogSchema);
REGISTER_OPERATOR(log_grad, LogGradSchema);

}  // namespace sluice::operators
