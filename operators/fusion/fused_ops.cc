#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/registration.h"

// Ops that passes create from several ops. Programs do not contain them.
namespace sluice {
namespace {

void FusedConv2dSchema(const Registry& registry, OpSchema& op) {
  op.Extends(registry.Schema("conv2d")).Internal().FusedAs(op.name());
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

void FusedProductSchema(const Registry& registry,
                        const std::string& product,
                        OpSchema& op) {
  op.Extends(registry.Schema(product)).Internal().FusedAs(op.name());
  op.Doc(product +
         ", the bias that is added to its rows, and element-wise ops after.");
  op.Input("Bias", "T", "[columns of the product]: added to every row.",
           {.optional = true});
  ChainArguments(op);
}

// Registration follows the order of folders, so the ops that these extend, in
// `contraction` and `conv`, are already registered.
void AddFusedOps(Registry& registry) {
  registry.AddOperator("fused_conv2d",
                       [&](OpSchema& op) { FusedConv2dSchema(registry, op); });
  for (const std::string product : {"mul", "matmul"}) {
    registry.AddOperator("fused_" + product, [&](OpSchema& op) {
      FusedProductSchema(registry, product, op);
    });
  }
}

}  // namespace

REGISTER_TABLE(fused_ops, AddFusedOps);

}  // namespace sluice
