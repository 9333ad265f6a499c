#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void FusedElementwiseShape(InferShapeContext& context) {
  context.Require(!context.Attr<std::vector<std::string>>("steps").empty(),
                  "fused_elementwise.steps", "steps is empty");
  const ShapeHandle x = context.input("X");
  CheckChain(context, x);
  context.SetOutput("Out", x);
}

void FusedElementwiseSchema(OpSchema& op) {
  op.Doc(
      "Element-wise ops one after the other, in one pass over X: `steps` has "
      "their names.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "What the first step reads, of any shape.");
  op.Output("Out", "T", "What the last one writes, of the same shape.");
  ChainArguments(op);
  op.InferShape(FusedElementwiseShape).Internal();
}

}  // namespace

REGISTER_OPERATOR(fused_elementwise, FusedElementwiseSchema);

}  // namespace sluice
