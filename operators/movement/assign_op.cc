#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

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
  op.InferShape(SameShape).Elementwise().Gradient(AssignGradient);
  op.Alias("Out", "X").Onnx({"Identity", {}});
}

class AssignKernel final : public CopyKernel<0> {
  using CopyKernel<0>::CopyKernel;
};

}  // namespace

REGISTER_OPERATOR(assign, AssignSchema);
REGISTER_OP_CPU_KERNEL(assign, AssignKernel);

}  // namespace sluice
