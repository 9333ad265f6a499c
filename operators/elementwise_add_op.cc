#include "sluice/operators/elementwise_op.h"

namespace sluice::operators {
namespace {

using framework::OpDesc;
using framework::OpSchema;

std::vector<OpDesc> ElementwiseAddGradient(const OpDesc& forward) {
  return {framework::MakeGradOp(forward, "elementwise_add_grad",
                                {{"X", "Y"}, {}, {"Out"}, {"X", "Y"}})};
}

void ElementwiseAddSchema(OpSchema& op) {
  ElementwiseSchema(op, "Out = X + Y", NumericDTypes());
  op.Gradient(ElementwiseAddGradient);
}

void ElementwiseAddGradSchema(OpSchema& op) {
  ElementwiseGradSchema(
      op, "The gradients of elementwise_add: that of Out for both",
      Reads::kShape, Reads::kShape);
  op.Alias("X@GRAD", "Out@GRAD").Alias("Y@GRAD", "Out@GRAD");
}

}  // namespace

REGISTER_OPERATOR(elementwise_add, ElementwiseAddSchema);
REGISTER_OPERATOR(elementwise_add_grad, ElementwiseAddGradSchema);

}  // namespace sluice::operators
