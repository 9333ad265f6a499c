#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Returns the shape of Out.
DDim SampledDims(const InferShapeContext& context) {
  const auto x = context.input("X"), grid = context.input("Grid");
  DDim out = x;
  if (!x.dims.rank_known()) return out;
  const int rank = x.rank();
  context.Require(rank == 4 || rank == 5, "grid_sample.rank",
                  "input X {} has rank {}; expected [N, C, H, W] or [N, C, D, "
                  "H, W]",
                  x.dims, rank);
  for (int i = 2; i < rank; ++i) {
    context.Require(x.dims[i] != 0, "grid_sample.empty",
                    "input X {} has no elements to sample; expected sizes of 1 "
                    "or more from dim 2 on",
                    x.dims);
    out[i] = kUnknownDim;
  }
  const auto points = context.WithRank(grid, rank);
  if (points.dims.rank_known()) {
    context.WithValue(context.Dim(points, rank - 1), rank - 2);
    out[0] = context.Merge(context.Dim(x, 0), context.Dim(points, 0));
    for (int i = 2; i < rank; ++i) {
      out[i] = points.dims[i - 1];
    }
  }
  return out;
}

void GridSampleSchema(OpSchema& op) {
  op.Doc(
      "Elements of X at the positions of Grid, by interpolation: position -1 "
      "is the beginning of X along a dim, 1 the end. Numbers are those of "
      "ONNX's operator GridSample. A position that is NaN gives NaN; an "
      "element of X whose weight is 0 does not count, even if it is NaN or "
      "infinite.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "[N, C, H, W] or [N, C, D, H, W].");
  op.Input("Grid", "T",
           "[N, H', W', 2] or [N, D', H', W', 3]: positions x, y and z; x is "
           "along the last dim of X.");
  op.Attr<std::string>("mode",
                       "What an element is made of: linear: the two around it "
                       "along each dim; nearest: one, the even one of two "
                       "equally near; cubic: four, with a = -0.75.")
      .Default(std::string("linear"))
      .OneOf({"linear", "nearest", "cubic"});
  op.Attr<std::string>("padding_mode",
                       "What is outside of X: zeros; border: the nearest "
                       "element of X, to which positions past the outer "
                       "borders are moved, as in ONNX's reference; reflection: "
                       "X mirrored at its borders, as often as needed.")
      .Default(std::string("zeros"))
      .OneOf({"zeros", "border", "reflection"});
  op.Attr<bool>("align_corners",
                "-1 and 1 are the middles of the first and the last element, "
                "and it is mirrored there; else their outer borders.")
      .Default(false);
  op.Output("Out", "T", "[N, C, H', W'] or [N, C, D', H', W'].");
  op.InferShape(OutShape<SampledDims>);
  op.Onnx({"GridSample", {}});
}

constexpr GradientOp kGridSampleGrad = {
    .forward = GridSampleSchema,
    .doc =
        "The gradients of grid_sample: each element of X gets those of the "
        "elements of Out that it is part of, by its weights there; Grid the "
        "slope of Out along each dim, 0 for mode nearest and where border "
        "moved the position. At an element of X, where the slope jumps, it is "
        "that towards the next one.",
    .inputs = {"X", "Grid"},
    .wanted = {"X", "Grid"},
    .dims = SampledDims};

}  // namespace

REGISTER_OPERATOR(grid_sample, WithGradient<kGridSampleGrad>);
REGISTER_OPERATOR(grid_sample_grad, GradientSchema<kGridSampleGrad>);

}  // namespace sluice
