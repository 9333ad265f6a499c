#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void TriluShape(InferShapeContext& context) {
  context.SetOutput("Out", context.WithRankAtLeast(context.input("X"), 2));
}

std::vector<OpDesc> TriluGradient(const OpDesc& forward) {
  return {GradientThrough(forward, forward.Input("X")[0], "trilu",
                          forward.attributes)};
}

void TriluSchema(OpSchema& op) {
  op.Doc(
      "The upper or the lower triangle of each matrix of X, with its diagonal; "
      "0 elsewhere, whatever X has there.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "[..., rows, columns].");
  op.Output("Out", "T", "In the shape of X.");
  op.Attr<bool>("upper",
                "Keeps elements with column >= row + k; false: those with "
                "column <= row + k.")
      .Default(true);
  op.Attr<int64_t>("k", "How far the diagonal is moved to the right.")
      .Default(int64_t{0});
  op.Operand("K", "k", "int64", "Attribute k as one element.");
  op.InferShape(TriluShape).InferLateShape(TriluShape);
  op.Gradient(TriluGradient).Onnx({"Trilu", {}});
}

}  // namespace

REGISTER_OPERATOR(trilu, TriluSchema);

}  // namespace sluice
