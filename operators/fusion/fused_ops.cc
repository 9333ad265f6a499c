#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/registration.h"

// Ops that passes create from several ops. Programs do not contain them.
namespace sluice {
namespace {

// Infers the shape of the op that `fused` extends, named without "fused_", and
// returns it.
DDim BaseShape(InferShapeContext& context) {
  constexpr size_t kPrefix = std::string_view("fused_").size();
  const std::string base = context.op().substr(kPrefix);
  Registry::Global().Schema(base).shape_fn()(context);
  return context.output_shapes()[0][0];
}

void FusedConv2dShape(InferShapeContext& context) {
  const DDim out = BaseShape(context);
  const DimHandle channels = context.Dim(context.input("Filter"), 0);
  int given = 0;
  for (const char* name : {"Scale", "Shift", "Mean", "Variance"}) {
    if (!context.HasInput(name)) continue;
    ++given;
    const ShapeHandle each = context.WithRank(context.input(name), 1);
    context.Merge(channels, context.Dim(each, 0));
  }
  context.Require(given == 0 || given == 4, "fused_conv2d.norm",
                  "got {} of inputs Scale, Shift, Mean and Variance; expected "
                  "all or none",
                  given);
  CheckChain(context, out);
}

void FusedProductShape(InferShapeContext& context) {
  const DDim out = BaseShape(context);
  if (context.HasInput("Bias")) {
    const ShapeHandle bias = context.WithRank(context.input("Bias"), 1);
    if (out.rank_known()) {
      context.Merge(context.Dim(bias, 0), context.Dim({out, -1}, -1));
    }
  }
  CheckChain(context, out);
}

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
  op.InferShape(FusedConv2dShape);
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
  op.InferShape(FusedProductShape);
}

// Registration follows the order of folders, so the ops that these extend, in
// `contraction` and `conv`, are already registered.
void AddFusedOps(Registry& registry) {
  registry.AddOperator("fused_conv2d",
                       [&](OpSchema& op) { FusedConv2dSchema(registry, op); });
  for (const std::string product : {"mul", "matmul"}) {
    registry.AddOperator("fused_" + product, [&registry, product](auto& op) {
      FusedProductSchema(registry, product, op);
    });
  }
}

}  // namespace

REGISTER_TABLE(fused_ops, AddFusedOps);

}  // namespace sluice
