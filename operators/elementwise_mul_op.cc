#include "sluice/operators/elementwise_op.h"

namespace sluice::operators {
namespace {

using framework::OpDesc;
using framework::OpSchema;

std::vector<OpDesc> ElementwiseMulGradient(const OpDesc& forward) {
  return {framework::MakeGradOp(forward, "elementwise_mul_grad",
                                {{"X", "Y"}, {}, {"Out"}, {"X", "Y"}})};
}

void ElementwiseMulSchema(OpSchema& op) {
  ElementwiseSchema(op, "Out = X * Y", NumericDTypes());
  op.Gradient(ElementwiseMulGradient);
}

void ElementwiseMulGradSchema(OpSchema& op) {
  ElementwiseGradSchema(op,
                        "The gradients of elementwise_mul: Out@GRAD * Y for X, "
                        "Out@GRAD * X for Y",
                        Reads::kElements, Reads::kElements);
}

}  // namespace

REGISTER_OPERATOR(elementwise_mul, ElementwiseMulSchema);
REGISTER_OPERATOR(elementwise_mul_grad, ElementwiseMulGradSchema);

}  // namespace sluice::operators
