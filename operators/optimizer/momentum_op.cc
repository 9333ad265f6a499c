#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/optimizer/optimizer_op.h"

namespace sluice::operators {
namespace {

void MomentumShape(framework::InferShapeContext& context) {
  UpdateShape(context, {"Velocity"});
}

// Sutskever, Martens, Dahl, Hinton: On the importance of initialization and
// momentum in deep learning, ICML 2013, with the learning rate outside of the
// velocity, as Fluid has it.
void MomentumSchema(framework::OpSchema& op) {
  op.Doc(
      "A step with momentum: VelocityOut = mu * Velocity + Grad; ParamOut = "
      "Param - LearningRate * VelocityOut or, with use_nesterov, Param - "
      "LearningRate * (Grad + mu * VelocityOut). With l2_decay, Grad stands "
      "for "
      "Grad + regularization_coeff * Param.");
  ParamArguments(op);
  StateArguments(op, "Velocity", "The running sum of gradients; begins as 0.");
  RateArgument(op);
  op.Attr<double>("mu", "How much of the velocity is kept.");
  op.Attr<bool>("use_nesterov", "Look ahead along the velocity.")
      .Default(false);
  op.Attr<std::string>("regularization_method",
                       "l2_decay pulls the parameter to 0.")
      .Default(std::string())
      .OneOf({"", "l2_decay"});
  op.Attr<double>("regularization_coeff", "How strongly it does so.")
      .Default(0.0);
  op.InferShape(MomentumShape);
}

}  // namespace

REGISTER_OPERATOR(momentum, MomentumSchema);

}  // namespace sluice::operators
