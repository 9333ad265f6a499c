#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void GatherTreeShape(InferShapeContext& context) {
  const ShapeHandle ids = context.WithRank(context.input("Ids"), 3);
  context.SetOutput("Out", context.Merge(ids, context.input("Parents")));
}

void GatherTreeSchema(OpSchema& op) {
  op.Doc(
      "The sequences that a beam search found. Each token of a step follows "
      "the token of its parent beam in the step before: Out[T - 1] = Ids[T - "
      "1], and from there back to the first step Out[t, b, k] is the token of "
      "the beam that led to Out[t + 1, b, k].");
  op.TypeVar("T", IndexDTypes());
  op.Input("Ids", "T", "[steps, batch, beams]: tokens.");
  op.Input(
      "Parents", "T",
      "[steps, batch, beams]: the beam of the step before, from 0 to "
      "beams - 1; checked when the op runs. Those of step 0 are not used.");
  op.Output("Out", "T", "[steps, batch, beams]: token t of each sequence.");
  op.InferShape(GatherTreeShape);
}

}  // namespace

REGISTER_OPERATOR(gather_tree, GatherTreeSchema);

}  // namespace sluice
