#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/operators/window_shape.h"

namespace sluice {
namespace {

// Returns [N, C * kernel_sizes, windows] for images X of [N, C, H, W].
DDim UnfoldedDims(const InferShapeContext& context) {
  const DDim x = context.WithRank(context.input("X"), 4);
  std::vector<WindowAxis> axes = WindowAxes(context);
  ReadDilations(context, &axes);
  const Ints& kernel = WindowInts(context, "kernel_sizes");
  int64_t rows = x[1];
  int64_t windows = 1;
  bool fits = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].kernel = kernel[i];
    const int64_t count =
        WindowCount(context, axes[i], x[static_cast<int>(i) + 2]);
    if (rows >= 0) fits &= !__builtin_mul_overflow(rows, kernel[i], &rows);
    if (count < 0 || windows < 0) {
      windows = kUnknownDim;
    } else {
      fits &= !__builtin_mul_overflow(windows, count, &windows);
    }
  }
  context.Require(fits, "unfold.overflow",
                  "the windows of input X {} do not fit into 64 bits", x);
  return {x[0], rows, windows};
}

void UnfoldSchema(OpSchema& op) {
  op.Doc(
      "The elements under a window that slides over images, as columns: "
      "Out[n, (c * kernel height + i) * kernel width + j, y * windows a row + "
      "x] = X[n, c, y * stride + i * dilation, x * stride + j * dilation] "
      "(im2col).");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Images [N, C, H, W].");
  op.Output("Out", "T", "[N, C * elements of a window, windows].");
  op.Attr<Ints>("kernel_sizes", "The height and width of a window.").AtLeast(1);
  op.Attr<Ints>("strides", "From one window to the next: down, and right.")
      .Default(Ints{1, 1});
  op.Attr<Ints>("paddings",
                "How many zeros surround X: height, width; or top, bottom, "
                "left, right.")
      .Default(Ints{0, 0});
  op.Attr<Ints>("dilations", "From one element of a window to the next.")
      .Default(Ints{1, 1});
  op.InferShape(OutShape<UnfoldedDims>);
}

constexpr GradientOp kUnfoldGrad = {
    .forward = UnfoldSchema,
    .doc =
        "The gradient of unfold: that of each element of X is the sum over the "
        "windows that it is in (col2im).",
    .inputs = {ShapeOf("X")},
    .dims = UnfoldedDims};

}  // namespace

REGISTER_OPERATOR(unfold, WithGradient<kUnfoldGrad>);
REGISTER_OPERATOR(unfold_grad, GradientSchema<kUnfoldGrad>);

}  // namespace sluice
