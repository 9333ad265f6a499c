#include "sluice/operators/elementwise_op.h"

namespace sluice::operators {
namespace {

using framework::OpDesc;
using framework::OpSchema;

std::vector<OpDesc> ElementwiseSubGradient(const OpDesc& forward) {
  return {framework::MakeGradOp(forward, "elementwise_sub_grad",
                                {{"X", "Y"}, {}, {"Out"}, {"X", "Y"}})};
}

void ElementwiseSubSchema(OpSchema& op) {
  ElementwiseSchema(op, "Out = X - Y", NumericDTypes());
  op.Gradient(ElementwiseSubGradient);
}

void ElementwiseSubGradSchema(OpSchema& op) {
  ElementwiseGradSchema(
      op,
      "The gradients of elementwise_sub: that of Out for X, its negative for Y",
      Reads::kShape, Reads::kShape);
  op.Alias("X@GRAD", "Out@GRAD");
}

}  // namespace

REGISTER_OPERATOR(elementwise_sub, ElementwiseSubSchema);
REGISTER_OPERATOR(elementwise_sub_grad, ElementwiseSubGradSchema);

}  // namespace sluice::operators
