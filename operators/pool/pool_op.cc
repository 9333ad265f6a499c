#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/operators/window_shape.h"

// Pooling of images, of 2 dimensions, which may have their channels last, and
// of volumes, of 3.
namespace sluice {
namespace {

// Checks and returns the windows.
std::vector<WindowAxis> PoolAxes(const InferShapeContext& context, int dims) {
  const bool three = dims == 3;
  const auto count = static_cast<size_t>(dims);
  const Ints& ksize = WindowInts(context, "ksize", count);
  // Checked before the strides, as many users derive these from ksize.
  for (size_t i = 0; i < count; ++i) {
    context.Require(ksize[i] >= 1, three ? "pool3d.ksize" : "pool2d.ksize",
                    "ksize[{}] = {}; expected 1 or more", i, ksize[i]);
  }
  std::vector<WindowAxis> axes = WindowAxes(context, count);
  if (three) ReadDilations(context, &axes);
  for (size_t i = 0; i < count; ++i) {
    context.Require(
        three ||
            (axes[i].pad_before < ksize[i] && axes[i].pad_after < ksize[i]),
        "pool2d.padding",
        "the padding of the {} ({} and {}) must be smaller than the window "
        "({}), or there would be windows of nothing",
        axes[i].name, axes[i].pad_before, axes[i].pad_after, ksize[i]);
    axes[i].kernel = ksize[i];
  }
  return axes;
}

// Returns the shape of Out. Global pooling, of images only, has one window of
// the input's size.
template <int kDims>
DDim PoolOutDims(const InferShapeContext& context) {
  constexpr bool kThree = kDims == 3;
  const DDim x = context.WithRank(context.input("X"), kDims + 2);
  const bool last =
      !kThree && context.Attr<std::string>("data_format") == "NHWC";
  const bool global = !kThree && context.Attr<bool>("global_pooling");
  const auto axes =
      global ? std::vector<WindowAxis>(kDims) : PoolAxes(context, kDims);
  DDim out = x;
  for (int i = 0; i < kDims; ++i) {
    int64_t& size = out[i + (last ? 1 : 2)];
    context.Require(size != 0, kThree ? "pool3d.empty" : "pool2d.empty",
                    kThree ? "the {1} of input X {0} is 0; expected 1 or more"
                           : "input X {} has no pixels; expected a height and "
                             "a width of 1 or more",
                    x, axes[i].name);
    size = global ? 1
                  : WindowCount(context, axes[i], size,
                                !context.Attr<bool>("ceil_mode"));
  }
  return out;
}

void Pool3dShape(InferShapeContext& context) {
  const DDim out = PoolOutDims<3>(context);
  context.SetOutput("Out", out);
  context.SetOutput("Mask", out);
}

void Pool2dGradShape(InferShapeContext& context) {
  const DDim out = PoolOutDims<2>(context);
  const bool max = context.Attr<std::string>("pooling_type") == "max";
  context.Require(!max || context.HasInput("Out"), "pool2d.out_missing",
                  "the gradient of a maximum needs input Out, got none");
  if (context.HasInput("Out")) context.Merge(context.input("Out"), {out, -1});
  context.Merge(context.input("Out@GRAD"), {out, -1});
  context.SetOutput("X@GRAD", context.input("X"));
}

std::vector<OpDesc> Pool2dGradient(const OpDesc& forward) {
  const auto& type = forward.attributes.find("pooling_type")->second;
  GradOpArgs arguments = {
      .inputs = {"X"}, .output_grads = {"Out"}, .wanted = {"X"}};
  if (std::get<std::string>(type) == "max") arguments.outputs = {"Out"};
  return {MakeGradOp(forward, "pool2d_grad", arguments)};
}

void PoolAttributes(OpSchema& op, int dims) {
  const bool three = dims == 3;
  const WindowWords words = WordsOf(dims);
  op.Attr<std::string>("pooling_type",
                       "max: the largest number of each window, NaN if there "
                       "is one; avg: the average.")
      .Default(std::string("max"))
      .OneOf({"max", "avg"});
  AttrDef& ksize =
      op.Attr<Ints>("ksize", Format("The windows' sizes: {}.", words.axes));
  if (!three) ksize.Default(Ints());
  op.Attr<Ints>("strides", Format("{} from one window to the next: {}.",
                                  words.units, words.axes))
      .Default(Ints(dims, 1));
  op.Attr<Ints>("paddings",
                Format("{} that the first and the last windows may reach out "
                       "of the input: [{}], or [{}]{}.",
                       words.units, words.axes, words.sides,
                       three ? "" : "; less than ksize"))
      .Default(Ints(dims, 0));
  if (three) {
    op.Attr<Ints>("dilations", "Elements from one of a window to the next.")
        .Default(Ints(dims, 1));
  } else {
    op.Attr<bool>("global_pooling",
                  "One window over the whole height and width; ksize, strides "
                  "and paddings are not used.")
        .Default(false);
  }
  op.Attr<bool>("exclusive",
                Format("Averages are of the {}s inside the input; false: the "
                       "padding counts as zeros, but not what a window of "
                       "ceil_mode reaches past it.",
                       words.unit))
      .Default(true);
  op.Attr<bool>("ceil_mode",
                Format("{} left over at the end get a window that reaches "
                       "past it, if it would begin inside the input.",
                       words.units))
      .Default(false);
  if (three) return;
  op.Attr<std::string>("data_format", "NCHW, or NHWC with the channels last.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
}

constexpr const char* kXDoc = "[N, C, H, W], or [N, H, W, C] for NHWC.";
constexpr const char* kOutDoc =
    "[N, C, H', W'], or [N, H', W', C], with H' = (H + padding - window) / "
    "stride + 1, rounded down, or up for ceil_mode.";

void Pool2dArguments(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", kXDoc);
  op.Output("Out", "T", kOutDoc);
  PoolAttributes(op, 2);
  op.InferShape(OutShape<PoolOutDims<2>>);
}

void Pool2dSchema(OpSchema& op) {
  op.Doc(
      "The maximum or the average of each window that slides over the height "
      "and the width; each channel by itself.");
  Pool2dArguments(op);
  op.Gradient(Pool2dGradient);
  op.Sizes({{"X", "8, 16, n, n"}, {"ksize", "2, 2"}});
}

void Pool2dGradArguments(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", kXDoc);
  op.Input("Out", "T", "What the forward op gave; max only.",
           {.optional = true});
  op.Input("Out@GRAD", "T", kOutDoc);
  op.Output("X@GRAD", "T", "In the shape of X.");
  PoolAttributes(op, 2);
  op.InferShape(Pool2dGradShape);
}

void Pool2dGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of pool2d. max: the gradient of each window goes to the "
      "first of its pixels, row by row, that holds the maximum; avg: to all "
      "of them in equal parts.");
  Pool2dGradArguments(op);
}

void ReluPool2dSchema(OpSchema& op) {
  op.Doc("pool2d of relu(X), if no other op needs relu(X).");
  Pool2dArguments(op);
  op.Internal();
}

void ReluPool2dGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of X for Out = pool2d(relu(X)). The input X may as well "
      "be relu(X): the gradient is the same.");
  Pool2dGradArguments(op);
  op.Internal();
}

void Pool3dSchema(OpSchema& op) {
  op.Doc(
      "The maximum or the average of each window that slides over the depth, "
      "the height and the width; each channel by itself. A window with no "
      "element inside the input has the maximum -infinity, and the average 0 "
      "or, if exclusive, NaN.");
  op.TypeVar("T", ListOf(FloatTypes()));
  op.Input("X", "T", "[N, C, D, H, W]; images have D = 1, signals D = H = 1.");
  op.Output("Out", "T",
            "[N, C, D', H', W'], with D' = (D + padding - (window - 1) * "
            "dilation - 1) / stride + 1, rounded down, or up for ceil_mode.");
  op.Output("Mask", "int64",
            "Where each maximum is in X, counted over all elements of X; of "
            "equal ones the first, -1 for none. For avg -1.",
            {.optional = true});
  PoolAttributes(op, 3);
  op.InferShape(Pool3dShape);
}

constexpr GradientOp kPool3dGrad = {
    .forward = Pool3dSchema,
    .doc =
        "The gradient of pool3d. max: the gradient of each window goes to the "
        "first of its elements that holds the maximum; avg: to all of them in "
        "equal parts.",
    .inputs = {"X"},
    .dims = PoolOutDims<3>};

}  // namespace

REGISTER_OPERATOR(pool2d, Pool2dSchema);
REGISTER_OPERATOR(pool2d_grad, Pool2dGradSchema);
// The pass relu_pool2d inserts these ops.
REGISTER_OPERATOR(relu_pool2d, ReluPool2dSchema);
REGISTER_OPERATOR(relu_pool2d_grad, ReluPool2dGradSchema);
REGISTER_OPERATOR(pool3d, WithGradient<kPool3dGrad>);
REGISTER_OPERATOR(pool3d_grad, GradientSchema<kPool3dGrad>);

}  // namespace sluice
