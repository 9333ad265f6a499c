#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/operators/window_shape.h"

namespace sluice {
namespace {

DDim Pool3dOutShape(const InferShapeContext& context) {
  const DDim x = context.WithRank(context.input("X"), 5);
  const Ints& ksize = WindowInts(context, "ksize", 3);
  std::vector<WindowAxis> axes = WindowAxes(context, 3);
  ReadDilations(context, &axes);
  DDim out = x.rank_known() ? x : DDim{-1, -1, -1, -1, -1};
  for (int i = 0; i < 3; ++i) {
    context.Require(ksize[i] >= 1, "pool3d.ksize",
                    "ksize[{}] = {}; expected 1 or more", i, ksize[i]);
    axes[i].kernel = ksize[i];
    context.Require(out[i + 2] != 0, "pool3d.empty",
                    "the {} of input X {} is 0; expected 1 or more",
                    axes[i].name, x);
    out[i + 2] = WindowCount(context, axes[i], out[i + 2],
                             !context.Attr<bool>("ceil_mode"));
  }
  return out;
}

void Pool3dShape(InferShapeContext& context) {
  const DDim out = Pool3dOutShape(context);
  context.SetOutput("Out", out);
  context.SetOutput("Mask", out);
}

void Pool3dSchema(OpSchema& op) {
  op.Doc(
      "The maximum or the average of each window that slides over the depth, "
      "the height and the width; each channel by itself. A window with no "
      "element inside the input has the maximum -infinity, and the average 0 "
      "or, if exclusive, NaN.");
  op.Input("X", "T", "[N, C, D, H, W]; images have D = 1, signals D = H = 1.");
  op.Output("Out", "T",
            "[N, C, D', H', W'], with D' = (D + padding - (window - 1) * "
            "dilation - 1) / stride + 1, rounded down, or up for ceil_mode.");
  op.Output("Mask", "int64",
            "Where each maximum is in X, counted over all elements of X; of "
            "equal ones the first, -1 for none. For avg -1.",
            {.optional = true});
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Attr<std::string>("pooling_type",
                       "max: the largest number of each window, NaN if there "
                       "is one; avg: the average.")
      .Default(std::string("max"))
      .OneOf({"max", "avg"});
  op.Attr<Ints>("ksize", "The windows' depth, height and width.");
  op.Attr<Ints>("strides", "Elements from one window to the next.")
      .Default(Ints{1, 1, 1});
  op.Attr<Ints>("paddings",
                "Elements that the first and the last windows may reach out "
                "of the input: [depth, height, width], or [front, back, top, "
                "bottom, left, right].")
      .Default(Ints{0, 0, 0});
  op.Attr<Ints>("dilations", "Elements from one of a window to the next.")
      .Default(Ints{1, 1, 1});
  op.Attr<bool>("exclusive",
                "Averages are of the elements inside the input; false: the "
                "padding counts as zeros. What is past it, where ceil_mode "
                "lets windows reach, never counts.")
      .Default(true);
  op.Attr<bool>("ceil_mode",
                "Elements left over at the end get a window that reaches past "
                "it, if it would begin inside the input.")
      .Default(false);
  op.InferShape(Pool3dShape);
}

constexpr GradientOp kPool3dGrad = {
    .forward = Pool3dSchema,
    .doc =
        "The gradient of pool3d. max: the gradient of each window goes to the "
        "first of its elements that holds the maximum; avg: to all of them in "
        "equal parts.",
    .inputs = {"X"},
    .dims = Pool3dOutShape};

}  // namespace

REGISTER_OPERATOR(pool3d, WithGradient<kPool3dGrad>);
REGISTER_OPERATOR(pool3d_grad, GradientSchema<kPool3dGrad>);

}  // namespace sluice
