#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Returns the shape of Out.
DDim PickedDims(const InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 1);
  const ShapeHandle index = context.input("Index");
  if (!x.dims.rank_known() || !index.dims.rank_known()) {
    return DDim::UnknownRank();
  }
  const auto axis = context.Attr<int64_t>("axis");
  context.Require(axis >= -x.rank() && axis < x.rank(), "gather.axis",
                  "axis = {}; expected a dim of input X {}, which has rank {}",
                  axis, x.dims, x.rank());
  context.Require(x.rank() - 1 + index.rank() <= DDim::kMaxRank, "gather.rank",
                  "input X {} gathered by input Index {} has rank {}; expected "
                  "at most {}",
                  x.dims, index.dims, x.rank() - 1 + index.rank(),
                  DDim::kMaxRank);
  const int at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  DDim out = x.dims;
  out.RemoveDimRange(at, at + 1);
  for (int i = 0; i < index.rank(); ++i) {
    out.InsertDim(at + i, index.dims[i]);
  }
  return out;
}

void GatherSchema(OpSchema& op) {
  op.Doc(
      "Picks slices of X along one dimension: Out[i, ...] = X[Index[i], ...] "
      "for axis 0.");
  op.TypeVar("T", AllDTypes()).TypeVar("S", IndexDTypes());
  op.Input("X", "T", "The tensor to pick from, of rank 1 at least.");
  op.Input("Index", "S",
           "Of any shape, mostly [n]: which slices, each from 0 to the size of "
           "that dim of X less one; negative ones count from the end; checked "
           "when the op runs.");
  op.Output("Out", "T",
            "The shape of X with dim `axis` replaced by the shape of Index.");
  op.Attr<int64_t>("axis", "The dim of X; negative ones count from the end.")
      .Default(int64_t{0});
  op.InferShape(OutShape<PickedDims>).Onnx({"Gather", {}});
}

constexpr GradientOp kGatherGrad = {
    .forward = GatherSchema,
    .doc =
        "The gradient of gather: each slice of X gets the sum of the gradients "
        "of those picked from it, in the order of Index.",
    .inputs = {ShapeOf("X"), "Index"},
    .dims = PickedDims};

}  // namespace

REGISTER_OPERATOR(gather, WithGradient<kGatherGrad>);
REGISTER_OPERATOR(gather_grad, GradientSchema<kGatherGrad>);

}  // namespace sluice
