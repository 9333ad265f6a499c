#include "sluice/operators/onednn/fusion/fused_ops.h"

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/chain/chain_steps.h"

namespace sluice::operators::onednn {

using framework::OpSchema;
using framework::Registry;

Activation FirstActivation(const framework::OpDesc& op) {
  const auto& steps = StepsOf(op);
  if (steps.empty()) return Activation::kNone;
  return steps[0] == "sigmoid" ? Activation::kSigmoid
         : steps[0] == "tanh"  ? Activation::kTanh
                               : Activation::kNone;
}

namespace {

void FusedConv2dSchema(OpSchema& op) {
  op.Extends(Registry::Global().Schema("conv2d")).Internal();
  op.Doc(
      "conv2d, the batch_norm after it that normalizes by constants, and "
      "element-wise ops after that. All four inputs of the batch_norm are "
      "there, or none.");
  op.Input("Scale", "T", "[out channels]: of the batch_norm.",
           {.optional = true});
  op.Input("Shift", "T", "[out channels]: its Bias.", {.optional = true});
  op.Input("Mean", "T", "[out channels]: its mean.", {.optional = true});
  op.Input("Variance", "T", "[out channels]: its variance.",
           {.optional = true});
  op.Attr<double>("epsilon", "Added to the variance.").Default(1e-5);
  ChainArguments(op);
}

void FusedProductSchema(OpSchema& op, const std::string& product) {
  op.Extends(Registry::Global().Schema(product)).Internal();
  op.Doc(product +
         ", the bias that is added to its rows, and element-wise ops after.");
  op.Input("Bias", "T", "[columns of the product]: added to every row.",
           {.optional = true});
  ChainArguments(op);
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
