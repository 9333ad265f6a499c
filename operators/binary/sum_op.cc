#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void SumShape(InferShapeContext& context) {
  ShapeHandle out = InferShapeContext::UnknownShape();
  for (const ShapeHandle& x : context.inputs("X")) {
    out = context.Merge(out, x);
  }
  context.SetOutput("Out", out);
}

std::vector<OpDesc> SumGradient(const OpDesc& forward) {
  std::vector<OpDesc> grads;
  for (const std::string& x : forward.Input("X")) {
    grads.push_back(GradientThrough(forward, x, "assign", {}));
  }
  return grads;
}

void SumSchema(OpSchema& op) {
  op.Doc(
      "The sum of one or more tensors, from the first to the last. float16 and "
      "bfloat16 are added in float32 and rounded once; integers wrap around.");
  op.TypeVar("T", NumericDTypes());
  op.Input("X", "T", "Tensors of one shape.", {.variadic = true});
  op.Output("Out", "T", "Their sum.");
  op.InferShape(SumShape).Elementwise().Gradient(SumGradient).Alias("Out", "X");
  op.Serves(OpRole::kSum);
}

}  // namespace

REGISTER_OPERATOR(sum, SumSchema);

}  // namespace sluice
