#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/optimizer/optimizer_op.h"

namespace sluice::operators {
namespace {

void SgdSchema(framework::OpSchema& op) {
  op.Doc("A step down the gradient: ParamOut = Param - LearningRate * Grad.");
  ParamArguments(op);
  RateArgument(op);
  op.InferShape(
      [](framework::InferShapeContext& context) { UpdateShape(context, {}); });
}

}  // namespace

REGISTER_OPERATOR(sgd, SgdSchema);

}  // namespace sluice::operators
