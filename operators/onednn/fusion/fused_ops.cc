#include "sluice/operators/onednn/fusion/fused_ops.h"

#include "sluice/framework/op/op_registry.h"

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
  op.Doc(
      "conv2d, the batch_norm after it that normalizes by constants, and the "
      "activation behind that. All four inputs of the batch_norm are there, or "
      "none.");
  op.Input("Scale", "T", "[out channels]: of the batch_norm.",
           {.optional = true});
  op.Input("Shift", "T", "[out channels]: its Bias.", {.optional = true});
  op.Input("Mean", "T", "[out channels]: its mean.", {.optional = true});
  op.Input("Variance", "T", "[out channels]: its variance.",
           {.optional = true});
  op.Attr<double>("epsilon", "Added to the variance.").Default(1e-5);
  ActivationAttribute(op);
}

void FusedProductSchema(OpSchema& op, const std::string& product) {
  op.Extends(Registry::Global().Schema(product)).Internal();
  op.Doc(product +
         ", the bias that is added to its rows and the activation behind.");
  op.Input("Bias", "T", "[columns of the product]: added to every row.",
           {.optional = true});
  ActivationAttribute(op);
}

void FusedMulSchema(OpSchema& op) {
  FusedProductSchema(op, "mul");
}

void FusedMatmulSchema(OpSchema& op) {
  FusedProductSchema(op, "matmul");
}

}  // namespace

REGISTER_OPERATOR(fused_conv2d, FusedConv2dSchema);
REGISTER_OPERATOR(fused_mul, FusedMulSchema);
REGISTER_OPERATOR(fused_matmul, FusedMatmulSchema);

}  // namespace sluice::operators::onednn
