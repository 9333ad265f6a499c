#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void TransposeShape(InferShapeContext& context) {
  const Ints& axes = context.Attr<Ints>("axis");
  const auto rank = static_cast<int64_t>(axes.size());
  const ShapeHandle x = context.input("X");
  context.Require(
      x.dims.rank_known() ? rank == x.rank() : rank <= DDim::kMaxRank,
      "transpose.rank",
      "attribute axis has {} entries; expected one for each dim of "
      "input X {}",
      rank, x.dims);
  DDim out(Ints(axes.size(), kUnknownDim));
  uint32_t seen = 0;
  for (int i = 0; i < out.rank(); ++i) {
    const int64_t axis = axes[i];
    context.Require(axis >= 0 && axis < rank, "transpose.axis_range",
                    "axis[{}] = {}; expected a dim of input X, from 0 to {}", i,
                    axis, rank - 1);
    context.Require((seen >> axis & 1) == 0, "transpose.axis_twice",
                    "axis[{}] = {} stands twice; expected each dim once", i,
                    axis);
    seen |= 1U << axis;
    out[i] = x.dims.rank_known() ? x.dims[static_cast<int>(axis)] : kUnknownDim;
  }
  context.SetOutput("Out", out);
}

std::vector<OpDesc> TransposeGradient(const OpDesc& forward) {
  const auto& axes = std::get<Ints>(forward.attributes.find("axis")->second);
  Ints back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    back[axes[i]] = static_cast<int64_t>(i);
  }
  return {GradientThrough(forward, forward.Input("X")[0], "transpose",
                          {{"axis", back}})};
}

void TransposeSchema(OpSchema& op) {
  op.Doc("X with its dims in another order: dim i of Out is dim axis[i] of X.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "The tensor, of any rank.");
  op.Output("Out", "T", "The same elements, dims permuted.");
  op.Attr<Ints>("axis", "The dims of X in their new order, each once.");
  op.InferShape(TransposeShape).Gradient(TransposeGradient);
  op.SharesRows("Out", {"X"}, [](const OpDesc& op, const DDim&) {
    const auto& axis = std::get<Ints>(op.attributes.at("axis"));
    return !axis.empty() && axis[0] == 0;
  });
  op.Permutes("axis");
}

}  // namespace

REGISTER_OPERATOR(transpose, TransposeSchema);

}  // namespace sluice
