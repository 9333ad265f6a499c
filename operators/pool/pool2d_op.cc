#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/operators/window_shape.h"

namespace sluice {
namespace {

// Checks and returns the windows. Global pooling uses the input's size.
std::vector<WindowAxis> PoolAxes(const InferShapeContext& context) {
  const Ints& ksize = WindowInts(context, "ksize");
  // Checked before the strides, as many users derive these from ksize.
  for (size_t i = 0; i < 2; ++i) {
    context.Require(ksize[i] >= 1, "pool2d.ksize",
                    "ksize[{}] = {}; expected 1 or more", i, ksize[i]);
  }
  std::vector<WindowAxis> axes = WindowAxes(context);
  for (size_t i = 0; i < 2; ++i) {
    context.Require(
        axes[i].pad_before < ksize[i] && axes[i].pad_after < ksize[i],
        "pool2d.padding",
        "the padding of the {} ({} and {}) must be smaller than the window "
        "({}), or there would be windows of nothing",
        axes[i].name, axes[i].pad_before, axes[i].pad_after, ksize[i]);
    axes[i].kernel = ksize[i];
  }
  return axes;
}

DDim Pool2dOutShape(const InferShapeContext& context) {
  const DDim x = context.WithRank(context.input("X"), 4);
  const bool last = context.Attr<std::string>("data_format") == "NHWC";
  const int height = last ? 1 : 2;
  DDim out = x.rank_known() ? x : DDim{-1, -1, -1, -1};
  const bool global = context.Attr<bool>("global_pooling");
  const auto axes = global ? std::vector<WindowAxis>() : PoolAxes(context);
  for (int i = 0; i < 2; ++i) {
    const int64_t size = out[height + i];
    context.Require(size != 0, "pool2d.empty",
                    "input X {} has no pixels; expected a height and a width "
                    "of 1 or more",
                    x);
    out[height + i] = global ? 1
                             : WindowCount(context, axes[i], size,
                                           !context.Attr<bool>("ceil_mode"));
  }
  return out;
}

bool IsMax(const OpDesc& op) {
  return std::get<std::string>(op.attributes.find("pooling_type")->second) ==
         "max";
}

void Pool2dGradShape(InferShapeContext& context) {
  const DDim out = Pool2dOutShape(context);
  const bool max = context.Attr<std::string>("pooling_type") == "max";
  context.Require(!max || context.HasInput("Out"), "pool2d.out_missing",
                  "the gradient of a maximum needs input Out, got none");
  if (context.HasInput("Out")) context.Merge(context.input("Out"), {out, -1});
  context.Merge(context.input("Out@GRAD"), {out, -1});
  context.SetOutput("X@GRAD", context.input("X"));
}

std::vector<OpDesc> Pool2dGradient(const OpDesc& forward) {
  GradOpArgs arguments = {
      .inputs = {"X"}, .output_grads = {"Out"}, .wanted = {"X"}};
  if (IsMax(forward)) arguments.outputs = {"Out"};
  return {MakeGradOp(forward, "pool2d_grad", arguments)};
}

void PoolAttributes(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.Attr<std::string>("pooling_type",
                       "max: the largest number of each window, NaN if there "
                       "is one; avg: the average.")
      .Default(std::string("max"))
      .OneOf({"max", "avg"});
  op.Attr<Ints>("ksize", "The windows' height and width.").Default(Ints());
  op.Attr<Ints>("strides", "Pixels from one window to the next: height, width.")
      .Default(Ints{1, 1});
  op.Attr<Ints>("paddings",
                "Pixels that the first and the last windows may reach out of "
                "the input: [height, width], or [top, bottom, left, right]; "
                "less than ksize.")
      .Default(Ints{0, 0});
  op.Attr<bool>("global_pooling",
                "One window over the whole height and width; ksize, strides "
                "and paddings are not used.")
      .Default(false);
  op.Attr<bool>("exclusive",
                "Averages are of the pixels inside the input; false: the "
                "padding counts as zeros, but not what a window of ceil_mode "
                "reaches past it.")
      .Default(true);
  op.Attr<bool>("ceil_mode",
                "Pixels left over at the end get a window that reaches past "
                "it, if it would begin inside the input.")
      .Default(false);
  op.Attr<std::string>("data_format", "NCHW, or NHWC with the channels last.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
}

constexpr const char* kXDoc = "[N, C, H, W], or [N, H, W, C] for NHWC.";
constexpr const char* kOutDoc =
    "[N, C, H', W'], or [N, H', W', C], with H' = (H + padding - window) / "
    "stride + 1, rounded down, or up for ceil_mode.";

void PoolArguments(OpSchema& op) {
  op.Input("X", "T", kXDoc);
  op.Output("Out", "T", kOutDoc);
  PoolAttributes(op);
  op.InferShape(OutShape<Pool2dOutShape>);
}

void Pool2dSchema(OpSchema& op) {
  op.Doc(
      "The maximum or the average of each window that slides over the height "
      "and the width; each channel by itself.");
  PoolArguments(op);
  op.Gradient(Pool2dGradient);
  op.Sizes({{"X", "8, 16, n, n"}, {"ksize", "2, 2"}});
}

void PoolGradArguments(OpSchema& op) {
  op.Input("X", "T", kXDoc);
  op.Input("Out", "T", "What the forward op gave; max only.",
           {.optional = true});
  op.Input("Out@GRAD", "T", kOutDoc);
  op.Output("X@GRAD", "T", "In the shape of X.");
  PoolAttributes(op);
  op.InferShape(Pool2dGradShape);
}

void Pool2dGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of pool2d. max: the gradient of each window goes to the "
      "first of its pixels, row by row, that holds the maximum; avg: to all "
      "of them in equal parts.");
  PoolGradArguments(op);
}

void ReluPool2dSchema(OpSchema& op) {
  op.Doc("pool2d of relu(X), if no other op needs relu(X).");
  PoolArguments(op);
  op.Internal();
}

void ReluPool2dGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of X for Out = pool2d(relu(X)). The input X may as well "
      "be relu(X): the gradient is the same.");
  PoolGradArguments(op);
  op.Internal();
}

}  // namespace

REGISTER_OPERATOR(pool2d, Pool2dSchema);
REGISTER_OPERATOR(pool2d_grad, Pool2dGradSchema);
// The pass relu_pool2d inserts these ops.
REGISTER_OPERATOR(relu_pool2d, ReluPool2dSchema);
REGISTER_OPERATOR(relu_pool2d_grad, ReluPool2dGradSchema);

}  // namespace sluice
