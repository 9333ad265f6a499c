#include "sluice/operators/conv/transpose_gradient.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/window_shape.h"

namespace sluice {
namespace {

// The shapes of Input and Filter, possibly with unknown sizes. Groups divide
// the channels of Input and dim 0 of Filter: the output channels of conv3d, the
// input channels of conv3d_transpose.
struct Shapes {
  DDim input;
  DDim filter;
};

Shapes CheckedShapes(const InferShapeContext& context) {
  const DDim unknown = {-1, -1, -1, -1, -1};
  Shapes shapes = {context.WithRank(context.input("Input"), 5),
                   context.WithRank(context.input("Filter"), 5)};
  if (!shapes.input.rank_known()) shapes.input = unknown;
  if (!shapes.filter.rank_known()) shapes.filter = unknown;
  const auto groups = context.Attr<int64_t>("groups");
  context.Require(groups >= 1, "conv3d.groups",
                  "groups = {}; expected 1 or more", groups);
  const int64_t channels = shapes.input[1], filters = shapes.filter[0];
  context.Require(channels % groups == 0 || channels < 0, "conv3d.input_groups",
                  "groups = {} does not divide the {} channels of Input {}",
                  groups, channels, shapes.input);
  context.Require(filters % groups == 0 || filters < 0, "conv3d.filter_groups",
                  "groups = {} does not divide dim 0 of Filter {}", groups,
                  shapes.filter);
  return shapes;
}

std::vector<WindowAxis> Axes(const InferShapeContext& context,
                             const DDim& filter) {
  std::vector<WindowAxis> axes = WindowAxes(context, 3);
  ReadDilations(context, &axes);
  for (int i = 0; i < 3; ++i) {
    axes[i].kernel = filter[i + 2];
  }
  return axes;
}

// Merges the number of output channels with the size of the bias.
int64_t WithBias(const InferShapeContext& context, int64_t channels) {
  if (!context.HasInput("Bias")) return channels;
  const auto bias = context.WithRank(context.input("Bias"), 1);
  return context.Merge(context.Dim(bias, 0), DimHandle{channels, -1, -1});
}

// Checks Input and Filter and returns the output's shape.
DDim Conv3dOutput(const InferShapeContext& context) {
  const Shapes shapes = CheckedShapes(context);
  const auto groups = context.Attr<int64_t>("groups");
  const int64_t channels = shapes.input[1], of_filter = shapes.filter[1];
  context.Require(
      channels < 0 || of_filter < 0 || channels / groups == of_filter,
      "conv3d.channels",
      "Filter {} is for {} input channels in each of {} groups; Input {} has "
      "{}",
      shapes.filter, of_filter, groups, shapes.input, channels / groups);
  const auto axes = Axes(context, shapes.filter);
  DDim out = {shapes.input[0], shapes.filter[0], -1, -1, -1};
  for (int i = 0; i < 3; ++i) {
    out[i + 2] = WindowCount(context, axes[i], shapes.input[i + 2]);
  }
  return out;
}

void Conv3dShape(InferShapeContext& context) {
  DDim out = Conv3dOutput(context);
  out[1] = WithBias(context, out[1]);
  context.SetOutput("Output", out);
}

void Conv3dGradFilterShape(InferShapeContext& context) {
  const DDim out = Conv3dOutput(context);
  context.Merge(context.input("Output@GRAD"), {out, -1});
  context.SetOutput("Filter@GRAD", context.input("Filter"));
  context.SetOutput("Bias@GRAD", {out[1]});
}

std::vector<OpDesc> Conv3dTransposeGradient(const OpDesc& forward) {
  return ConvTransposeGradient(forward, "conv3d", {0, 2, 3, 4});
}

// Returns (size - 1) * stride - padding + dilation * (kernel - 1) + 1 + more.
int64_t Transposed3dSize(const InferShapeContext& context,
                         const WindowAxis& axis,
                         int64_t more,
                         int64_t size) {
  context.Require(size != 0 && axis.kernel != 0, "conv3d_transpose.empty",
                  "the {} of Input {} or Filter {} is 0; expected 1 or more",
                  axis.name, context.input("Input").dims,
                  context.input("Filter").dims);
  context.Require(more >= 0 && more < axis.stride,
                  "conv3d_transpose.output_padding",
                  "output_padding of the {} is {}; expected 0 or more, and "
                  "less than the stride, {}",
                  axis.name, more, axis.stride);
  if (axis.kernel < 0 || size < 0) return kUnknownDim;
  int64_t reach = 0, out = 0, padding = 0;
  const bool overflow =
      __builtin_mul_overflow(size - 1, axis.stride, &out) ||
      __builtin_mul_overflow(axis.kernel - 1, axis.dilation, &reach) ||
      __builtin_add_overflow(out, reach, &out) ||
      __builtin_add_overflow(out, more + 1, &out) ||
      __builtin_add_overflow(axis.pad_before, axis.pad_after, &padding);
  context.Require(!overflow, "conv3d_transpose.overflow",
                  "the {} of the output does not fit into 64 bits: {} elements "
                  "with stride {}, a kernel of {} with dilation {}, paddings "
                  "{} and {}",
                  axis.name, size, axis.stride, axis.kernel, axis.dilation,
                  axis.pad_before, axis.pad_after);
  context.Require(padding < out, "conv3d_transpose.nothing",
                  "paddings {} and {} leave nothing of the {} of the output, "
                  "which has {} elements without them",
                  axis.pad_before, axis.pad_after, axis.name, out);
  return out - padding;
}

void Conv3dTransposeShape(InferShapeContext& context) {
  const Shapes shapes = CheckedShapes(context);
  const int64_t channels = shapes.input[1], filters = shapes.filter[0];
  context.Require(channels < 0 || filters < 0 || channels == filters,
                  "conv3d_transpose.channels",
                  "Filter {} is for {} input channels; Input {} has {}",
                  shapes.filter, filters, shapes.input, channels);
  int64_t out_channels = kUnknownDim;
  if (shapes.filter[1] >= 0) {
    context.Require(
        !__builtin_mul_overflow(shapes.filter[1],
                                context.Attr<int64_t>("groups"), &out_channels),
        "conv3d_transpose.channels_overflow",
        "groups = {} times the {} output channels of each in Filter {} does "
        "not fit into 64 bits",
        context.Attr<int64_t>("groups"), shapes.filter[1], shapes.filter);
  }
  const auto axes = Axes(context, shapes.filter);
  const Ints& more = WindowInts(context, "output_padding", 3);
  DDim out = {shapes.input[0], WithBias(context, out_channels), -1, -1, -1};
  for (int i = 0; i < 3; ++i) {
    out[i + 2] =
        Transposed3dSize(context, axes[i], more[i], shapes.input[i + 2]);
  }
  context.SetOutput("Output", out);
}

void ConvArguments(OpSchema& op, const char* filter, const char* output) {
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("Input", "T", "[N, C, D, H, W].");
  op.Input("Filter", "T", filter);
  op.Input("Bias", "T", "[out channels]: added to every element.",
           {.optional = true});
  op.Output("Output", "T", output);
}

void ConvAttributes(OpSchema& op, const char* strides, const char* paddings) {
  op.Attr<Ints>("strides", strides).Default(Ints{1, 1, 1});
  op.Attr<Ints>("paddings", paddings).Default(Ints{0, 0, 0});
  op.Attr<Ints>("dilations",
                "Elements from one of the filter to the next: depth, height, "
                "width.")
      .Default(Ints{1, 1, 1});
  op.Attr<int64_t>("groups",
                   "Into how many equal groups the channels are divided; each "
                   "group of the output sees the same one of the input.")
      .Default(int64_t{1});
}

void Conv3dSchema(OpSchema& op) {
  op.Doc(
      "3-d convolution, as neural networks mean it (the filter is not "
      "flipped): Output[n, o, z, y, x] = Bias[o] + the sum over c, h, i, j of "
      "Filter[o, c, h, i, j] * Input[n, c, z * stride + h * dilation - "
      "padding, likewise y and x]. Elements outside of Input are 0, also "
      "where the filter's are NaN or infinite: such a term is NaN.");
  ConvArguments(op,
                "[out channels, C / groups, kernel depth, height and width].",
                "[N, out channels, D', H', W'], with D' = (D + padding - "
                "(kernel - 1) * dilation - 1) / stride + 1, rounded down.");
  ConvAttributes(op,
                 "Elements from one window to the next: depth, height, width.",
                 "Zeros around the input: [depth, height, width], or [front, "
                 "back, top, bottom, left, right].");
  op.InferShape(Conv3dShape);
}

constexpr GradientOp kConv3dGradInput = {
    .forward = Conv3dSchema,
    .doc = "The gradient of conv3d by its Input.",
    .suffix = "_grad_input",
    .inputs = {ShapeOf("Input"), "Filter"},
    .output_grads = {"Output"},
    .wanted = {"Input"},
    .dims = Conv3dOutput};

constexpr GradientOp kConv3dGradFilter = {
    .forward = Conv3dSchema,
    .doc =
        "The gradients of conv3d by its Filter and its Bias. Elements outside "
        "of Input are 0, also where those of Output@GRAD are NaN or infinite: "
        "such a term is NaN.",
    .suffix = "_grad_filter",
    .inputs = {"Input", ShapeOf("Filter")},
    .output_grads = {"Output"},
    .wanted = {"Filter", "Bias"},
    .shape = Conv3dGradFilterShape};

void Conv3dTransposeSchema(OpSchema& op) {
  op.Doc(
      "Transposed 3-d convolution: for each element of Input its group's "
      "filters, multiplied with it, are added to Output, stride elements "
      "apart.");
  ConvArguments(op,
                "[C, out channels / groups, kernel depth, height and width].",
                "[N, out channels, D', H', W'], with D' = (D - 1) * stride - "
                "padding + dilation * (kernel - 1) + 1 + output_padding.");
  ConvAttributes(op,
                 "Elements of Output from one of Input to the next: depth, "
                 "height, width.",
                 "Elements of the result that are left out: [depth, height, "
                 "width], or [front, back, top, bottom, left, right].");
  op.Attr<Ints>("output_padding",
                "Elements that are added at the end, fewer than strides: "
                "depth, height, width.")
      .Default(Ints{0, 0, 0});
  op.InferShape(Conv3dTransposeShape).Gradient(Conv3dTransposeGradient);
}

}  // namespace

REGISTER_OPERATOR(conv3d, (WithGradient<kConv3dGradInput, kConv3dGradFilter>));
REGISTER_OPERATOR(conv3d_grad_input, GradientSchema<kConv3dGradInput>);
REGISTER_OPERATOR(conv3d_grad_filter, GradientSchema<kConv3dGradFilter>);
REGISTER_OPERATOR(conv3d_transpose, Conv3dTransposeSchema);

}  // namespace sluice
