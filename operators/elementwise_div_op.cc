#include "sluice/operators/elementwise_op.h"

namespace sluice::operators {
namespace {

using framework::OpDesc;
using framework::OpSchema;

std::vector<OpDesc> ElementwiseDivGradient(const OpDesc& forward) {
  return {framework::MakeGradOp(forward, "elementwise_div_grad",
                                {{"X", "Y"}, {"Out"}, {"Out"}, {"X", "Y"}})};
}

void ElementwiseDivSchema(OpSchema& op) {
  ElementwiseSchema(op, "Out = X / Y by IEEE 754", FloatDTypes());
  op.Gradient(ElementwiseDivGradient);
}

void ElementwiseDivGradSchema(OpSchema& op) {
  ElementwiseGradSchema(op,
                        "The gradients of elementwise_div: Out@GRAD / Y for X, "
                        "-Out@GRAD * Out / Y for Y",
                        Reads::kShape, Reads::kElements, /*reads_out=*/true);
}

}  // namespace

REGISTER_OPERATOR(elementwise_div, ElementwiseDivSchema);
REGISTER_OPERATOR(elementwise_div_grad, ElementwiseDivGradSchema);

}  // namespace sluice::operators
