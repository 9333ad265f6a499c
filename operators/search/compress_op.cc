#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Returns the shape of Out, as far as it is known before it has run.
DDim CompressedDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  context.WithRank(context.input("Condition"), 1);
  if (context.Attr<bool>("flatten")) return {kUnknownDim};
  if (!x.rank_known()) return x;
  const auto axis = context.Attr<int64_t>("axis");
  context.Require(axis >= -x.rank() && axis < x.rank(), "compress.axis",
                  "attribute axis = {} is no dimension of input X {}; expected "
                  "{} to {}",
                  axis, x, -x.rank(), x.rank() - 1);
  DDim out = x;
  out[static_cast<int>(axis < 0 ? axis + x.rank() : axis)] = kUnknownDim;
  return out;
}

void CompressSchema(OpSchema& op) {
  op.Doc(
      "The slices of X along an axis where Condition is true, as np.compress: "
      "a shorter Condition is false for the others, a longer one must be false "
      "beyond them. How many there are is known when it has run.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Of any shape.");
  op.Input("Condition", "bool", "[n]: for each slice whether it is taken.");
  op.Attr<int64_t>("axis", "The dimension; a negative one counts from the end.")
      .Default(int64_t{0});
  op.Attr<bool>("flatten",
                "Takes elements of X as one row, whatever axis says.")
      .Default(false);
  op.Output("Out", "T", "X with fewer slices along the axis.");
  op.InferShape(OutShape<CompressedDims>);
}

constexpr GradientOp kCompressGrad = {
    .forward = CompressSchema,
    .doc =
        "The gradient of compress: that of Out in the slices that were taken, "
        "0 in the others.",
    .inputs = {ShapeOf("X"), "Condition"},
    .dims = CompressedDims};

}  // namespace

REGISTER_OPERATOR(compress, WithGradient<kCompressGrad>);
REGISTER_OPERATOR(compress_grad, GradientSchema<kCompressGrad>);

}  // namespace sluice
