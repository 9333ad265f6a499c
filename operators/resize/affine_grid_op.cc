#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void AffineGridShape(InferShapeContext& context) {
  const Ints& size = context.Attr<Ints>("size");
  context.Require(size.size() == 4 || size.size() == 5, "affine_grid.size",
                  "attribute size has {} entries; expected [N, C, H, W] or [N, "
                  "C, D, H, W]",
                  size.size());
  for (size_t i = 0; i < size.size(); ++i) {
    context.Require(size[i] >= 0, "affine_grid.negative",
                    "size[{}] = {}; expected a size", i, size[i]);
  }
  const auto dims = static_cast<int64_t>(size.size()) - 2;
  const auto theta = context.WithRank(context.input("Theta"), 3);
  if (theta.dims.rank_known()) {
    context.WithValue(context.Dim(theta, 0), size[0]);
    context.WithValue(context.Dim(theta, 1), dims);
    context.WithValue(context.Dim(theta, 2), dims + 1);
  }
  Ints out(size.begin() + 2, size.end());
  out.insert(out.begin(), size[0]);
  out.push_back(dims);
  context.SetOutput("Out", DDim(out));
}

// Out's rank is the length of attribute size.
void AffineGridLateShape(InferShapeContext& context) {
  const auto theta = context.WithRank(context.input("Theta"), 3);
  if (!theta.dims.rank_known() || theta.dims[1] < 0) {
    return context.SetOutput("Out", DDim::UnknownRank());
  }
  const int64_t dims = theta.dims[1];
  context.Require(dims == 2 || dims == 3, "affine_grid.theta",
                  "input Theta {} has {} rows; expected 2 or 3", theta.dims,
                  dims);
  Ints out(static_cast<size_t>(dims) + 2, kUnknownDim);
  out.front() = theta.dims[0];
  out.back() = dims;
  context.SetOutput("Out", DDim(out));
}

void AffineGridGradShape(InferShapeContext& context) {
  const DDim grad = context.input("Out@GRAD");
  DDim theta = {kUnknownDim, kUnknownDim, kUnknownDim};
  if (grad.rank_known()) {
    const int dims = grad.rank() - 2;
    context.Require(dims == 2 || dims == 3, "affine_grid_grad.rank",
                    "input Out@GRAD {} has rank {}; expected 4 or 5", grad,
                    grad.rank());
    context.WithValue(context.Dim(context.input("Out@GRAD"), dims + 1), dims);
    theta = {grad[0], dims, dims + 1};
  }
  context.SetOutput("Theta@GRAD", theta);
}

void AffineGridSchema(OpSchema& op) {
  op.Doc(
      "Positions for grid_sample: those of an even grid from -1 to 1, each "
      "transformed by Theta: Out[n, y, x] = Theta[n] * (x, y, 1).");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.TypeVar("S", IndexDTypes());
  op.Input("Theta", "T", "[N, 2, 3], or [N, 3, 4] for volumes.");
  op.Output("Out", "T", "[N, H, W, 2] or [N, D, H, W, 3].");
  op.Attr<Ints>("size",
                "What grid_sample is to give: [N, C, H, W] or [N, C, D, H, "
                "W].");
  op.Attr<bool>("align_corners",
                "The first and the last position are -1 and 1, and a single "
                "one is 0; else they are the middles of equal parts of that "
                "range.")
      .Default(false);
  op.Operand("Size", "size", "S", "Attribute size as a vector.");
  op.InferShape(AffineGridShape).InferLateShape(AffineGridLateShape);
  op.Onnx({"AffineGrid", {}});
}

constexpr GradientOp kAffineGridGrad = {
    .forward = AffineGridSchema,
    .doc =
        "The gradient of affine_grid: Theta@GRAD[n] is the sum over all "
        "positions of Out@GRAD[n, y, x] times (x, y, 1).",
    .wanted = {"Theta"},
    .without = {"size"},
    .shape = AffineGridGradShape};

}  // namespace

REGISTER_OPERATOR(affine_grid, WithGradient<kAffineGridGrad>);
REGISTER_OPERATOR(affine_grid_grad, GradientSchema<kAffineGridGrad>);

}  // namespace sluice
