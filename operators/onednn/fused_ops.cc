#include "sluice/operators/onednn/fused_ops.h"

#include "sluice/framework/op_registry.h"

namespace sluice::operators::onednn {

using framework::OpSchema;
using framework::Registry;

Activation FusedActivation(
    const framework::OpKernelConstruction& construction) {
  if (!construction.op().starts_with("fused_")) return Activation::kNone;
  const auto& name = construction.Attr<std::string>("activation");
  return name == "relu"      ? Activation::kRelu
         : name == "sigmoid" ? Activation::kSigmoid
         : name == "tanh"    ? Activation::kTanh
                             : Activation::kNone;
}

namespace {

void ActivationAttribute(OpSchema& op) {
  op.Attr<std::string>("activation", "Applied to each element of the output.")
      .Default(std::string())
      .OneOf({"", "relu", "sigmoid", "tanh"});
}

void FusedConv2dSchema(OpSchema& op) {
  op.Extends(Registry::Global().Schema("conv2d")).Internal();
  op.Doc("conv2d and the activation behind it.");
  ActivationAttribute(op);
}

void FusedMulSchema(OpSchema& op) {
  op.Extends(Registry::Global().Schema("mul")).Internal();
  op.Doc("mul, the bias that is added to its rows and the activation behind.");
  op.Input("Bias", "T", "[columns of the product]: added to every row.",
           {.optional = true});
  ActivationAttribute(op);
}

}  // namespace

REGISTER_OPERATOR(fused_conv2d, FusedConv2dSchema);
REGISTER_OPERATOR(fused_mul, FusedMulSchema);

}  // namespace sluice::operators::onednn
