#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/optimizer/optimizer_op.h"

namespace sluice::operators {
namespace {

using framework::InferShapeContext;

void AdamShape(InferShapeContext& context) {
  for (const char* beta : {"beta1", "beta2"}) {
    const auto value = context.Attr<double>(beta);
    context.Require(value >= 0 && value < 1, "adam.beta",
                    "attribute {} must be at least 0 and less than 1, got {}",
                    beta, value);
  }
  UpdateShape(context, {"Moment1", "Moment2"});
  for (const char* power : {"Beta1Pow", "Beta2Pow"}) {
    context.Merge(context.input(power), InferShapeContext::Vector(1));
    context.SetOutput(std::string(power) + "Out", framework::DDim({1}));
  }
}

// Kingma, Ba: Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm
// 1.
void AdamSchema(framework::OpSchema& op) {
  op.Doc(
      "A step with adaptive moments: Moment1Out = beta1 * Moment1 + (1 - "
      "beta1) "
      "* Grad; Moment2Out = beta2 * Moment2 + (1 - beta2) * Grad^2; ParamOut = "
      "Param - LearningRate * m / (sqrt(v) + epsilon), where m = Moment1Out / "
      "(1 - Beta1Pow) and v = Moment2Out / (1 - Beta2Pow); Beta1PowOut = beta1 "
      "* Beta1Pow; Beta2PowOut = beta2 * Beta2Pow.");
  ParamArguments(op);
  StateArguments(op, "Moment1", "The mean of gradients; begins as 0.");
  StateArguments(op, "Moment2", "The mean of their squares; begins as 0.");
  StateArguments(op, "Beta1Pow",
                 "[1]: beta1 to the power of the step; begins as beta1.");
  StateArguments(op, "Beta2Pow",
                 "[1]: beta2 to the power of the step; begins as beta2.");
  RateArgument(op);
  op.Attr<double>("beta1", "How much of the first moment is kept.")
      .Default(0.9);
  op.Attr<double>("beta2", "How much of the second moment is kept.")
      .Default(0.999);
  op.Attr<double>("epsilon", "Keeps the division away from 0.")
      .Default(1e-8)
      .AtLeast(0);
  op.InferShape(AdamShape);
}

}  // namespace

REGISTER_OPERATOR(adam, AdamSchema);

}  // namespace sluice::operators
