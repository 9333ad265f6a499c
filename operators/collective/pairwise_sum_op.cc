#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void PairwiseSumShape(InferShapeContext& context) {
  const DDim x = context.WithRankAtLeast(context.input("X"), 1);
  if (!x.rank_known()) return context.SetOutput("Out", DDim::UnknownRank());
  DDim out;
  for (int axis = 1; axis < x.rank(); ++axis) {
    out.InsertDim(axis - 1, x[axis]);
  }
  context.SetOutput("Out", out);
}

void PairwiseSumSchema(OpSchema& op) {
  op.Doc(
      "The sum of X over dim 0: pairs of neighbours first, then pairs of these "
      "sums, and so on. Where n is a power of 2, an ordered c_allreduce_sum of "
      "the sums that ranks have of equal parts gives the same bits as the sum "
      "of all parts on one rank.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                   DType::kBFloat16});
  op.Input("X", "T", "[n, ...].");
  op.Output("Out", "T", "[...]; 0 where n is 0.");
  op.InferShape(PairwiseSumShape);
  op.NoGradient("it adds up gradients that exist already");
}

}  // namespace

REGISTER_OPERATOR(pairwise_sum, PairwiseSumSchema);

}  // namespace sluice
