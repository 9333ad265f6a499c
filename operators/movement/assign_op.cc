#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void AssignShape(InferShapeContext& context) {
  context.SetOutput("Out", context.input("X"));
}

std::vector<OpDesc> AssignGradient(const OpDesc& forward) {
  return {GradientThrough(forward, forward.Input("X")[0], "assign", {})};
}

void AssignSchema(OpSchema& op) {
  op.Doc(
      "Out = X. No data moves where the plan lets Out look into the memory of "
      "X.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "The same elements.");
  op.InferShape(AssignShape)
      .Elementwise()
      .Gradient(AssignGradient)
      .Alias("Out", "X");
}

}  // namespace

REGISTER_OPERATOR(assign, AssignSchema);

}  // namespace sluice
