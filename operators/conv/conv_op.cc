#include <utility>

#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/window_shape.h"

// Convolutions and transposed ones of images, of 2 dimensions, which may have
// their channels last, and of volumes, of 3.
namespace sluice {
namespace {

// Returns the axis of the channels in Input and Output.
int ChannelAxis(const InferShapeContext& context, int dims) {
  const bool last =
      dims == 2 && context.Attr<std::string>("data_format") == "NHWC";
  return last ? 3 : 1;
}

DDim MoveAxis(DDim dims, int from, int to) {
  const int64_t size = dims[from];
  dims.RemoveDimRange(from, from + 1);
  dims.InsertDim(to, size);
  return dims;
}

// Checks the channels of `input`, [N, C, ...], and of `filter`; returns those
// of Output, -1 if unknown.
int64_t ConvChannels(const InferShapeContext& context,
                     const DDim& input,
                     const DDim& filter) {
  const bool three = input.rank() == 5;
  const auto groups = context.Attr<int64_t>("groups");
  const int64_t channels = input[1];
  context.Require(
      channels < 0 || filter[1] < 0 || channels / groups == filter[1],
      three ? "conv3d.channels" : "conv2d.channels",
      "Filter {} is for {} input channels in each of {} groups; "
      "Input {} has {}",
      filter, filter[1], groups, context.input("Input").dims,
      channels / groups);
  return filter[0];
}

// As ConvChannels, of a transposed convolution.
int64_t TransposedChannels(const InferShapeContext& context,
                           const DDim& input,
                           const DDim& filter) {
  const bool three = input.rank() == 5;
  const auto groups = context.Attr<int64_t>("groups");
  const int64_t channels = input[1];
  context.Require(
      channels < 0 || filter[0] < 0 || channels == filter[0],
      three ? "conv3d_transpose.channels" : "conv2d_transpose.channels",
      "Filter {} is for {} input channels; Input {} has {}", filter, filter[0],
      context.input("Input").dims, channels);
  if (filter[1] < 0) return kUnknownDim;
  int64_t result = 0;
  context.Require(!__builtin_mul_overflow(filter[1], groups, &result),
                  three ? "conv3d_transpose.channels_overflow"
                        : "conv2d_transpose.channels_overflow",
                  "groups = {} times the {} output channels of each in Filter "
                  "{} does not fit into 64 bits",
                  groups, filter[1], filter);
  return result;
}

// Checks that groups divide the channels of `input`, [N, C, ...], and dim 0 of
// `filter`, which in a transposed convolution are its input channels.
void CheckGroups(const InferShapeContext& context,
                 bool transposed,
                 const DDim& input,
                 const DDim& filter) {
  const bool three = input.rank() == 5;
  const auto groups = context.Attr<int64_t>("groups");
  context.Require(groups >= 1,
                  three        ? "conv3d.groups"
                  : transposed ? "conv2d_transpose.groups"
                               : "conv2d.groups",
                  "groups = {}; expected 1 or more", groups);
  context.Require(input[1] % groups == 0 || input[1] < 0,
                  three        ? "conv3d.input_groups"
                  : transposed ? "conv2d_transpose.input_groups"
                               : "conv2d.input_groups",
                  "groups = {} does not divide the {} channels of Input {}",
                  groups, input[1], context.input("Input").dims);
  if (transposed && !three) return;
  context.Require(filter[0] % groups == 0 || filter[0] < 0,
                  three ? "conv3d.filter_groups" : "conv2d.filter_groups",
                  three ? "groups = {0} does not divide dim 0 of Filter {2}"
                        : "groups = {0} does not divide the {1} output "
                          "channels of Filter {2}",
                  groups, filter[0], filter);
}

// Raises if a transposed convolution has no output along `axis`, or not all of
// what `more`, its output_padding, asks for.
void CheckTransposed(const InferShapeContext& context,
                     bool three,
                     const WindowAxis& axis,
                     int64_t more,
                     int64_t size) {
  const DDim input = context.input("Input");
  if (three) {
    context.Require(size != 0 && axis.kernel != 0, "conv3d_transpose.empty",
                    "the {} of Input {} or Filter {} is 0; expected 1 or more",
                    axis.name, input, context.input("Filter").dims);
  } else {
    context.Require(axis.kernel != 0, "conv2d_transpose.kernel",
                    "the kernel's {} is 0; expected 1 or more", axis.name);
    context.Require(size != 0, "conv2d_transpose.empty",
                    "the {} of Input {} is 0; expected 1 or more", axis.name,
                    input);
  }
  context.Require(more >= 0 && more < axis.stride,
                  three ? "conv3d_transpose.output_padding"
                        : "conv2d_transpose.output_padding",
                  "output_padding of the {} is {}; expected 0 or more, and "
                  "less than the stride, {}",
                  axis.name, more, axis.stride);
}

// Returns the output's size along an axis of `size` elements, -1 if unknown:
// (size - 1) * stride - padding + dilation * (kernel - 1) + 1 + more.
int64_t TransposedSize(const InferShapeContext& context,
                       bool three,
                       const WindowAxis& axis,
                       int64_t more,
                       int64_t size) {
  CheckTransposed(context, three, axis, more, size);
  if (axis.kernel < 0 || size < 0) return kUnknownDim;
  int64_t reach = 0, out = 0;
  const bool overflow =
      __builtin_mul_overflow(size - 1, axis.stride, &out) ||
      __builtin_mul_overflow(axis.kernel - 1, axis.dilation, &reach) ||
      __builtin_add_overflow(out, reach, &out) ||
      __builtin_add_overflow(out, more + 1, &out);
  context.Require(
      !overflow,
      three ? "conv3d_transpose.overflow" : "conv2d_transpose.overflow",
      three ? "the {} of the output does not fit into 64 bits: {} elements "
              "with stride {}, a kernel of {} with dilation {}, paddings {} "
              "and {}"
            : "the {} of the output does not fit into 64 bits: {} elements "
              "with stride {}, a kernel of {} with dilation {}",
      axis.name, size, axis.stride, axis.kernel, axis.dilation, axis.pad_before,
      axis.pad_after);
  // Both paddings are non-negative, so that nothing overflows.
  const bool cut_away =
      axis.pad_before >= out || axis.pad_after >= out - axis.pad_before;
  context.Require(
      !cut_away,
      three ? "conv3d_transpose.nothing" : "conv2d_transpose.nothing",
      "paddings {} and {} leave nothing of the {} of the output, which has {} "
      "elements without them",
      axis.pad_before, axis.pad_after, axis.name, out);
  return out - axis.pad_before - axis.pad_after;
}

// Checks everything but Bias and returns the shape of Output.
template <int kDims, bool kTransposed>
DDim OutputDims(const InferShapeContext& context) {
  constexpr bool kThree = kDims == 3;
  const int channel_axis = ChannelAxis(context, kDims);
  DDim out = MoveAxis(context.WithRank(context.input("Input"), kDims + 2),
                      channel_axis, 1);
  const DDim filter = context.WithRank(context.input("Filter"), kDims + 2);
  CheckGroups(context, kTransposed, out, filter);
  out[1] =
      (kTransposed ? TransposedChannels : ConvChannels)(context, out, filter);
  std::vector<WindowAxis> axes = WindowAxes(context, kDims);
  ReadDilations(context, &axes);
  Ints more;
  if (kTransposed) more = WindowInts(context, "output_padding", kDims);
  for (int i = 0; i < kDims; ++i) {
    axes[i].kernel = filter[i + 2];
    out[i + 2] = kTransposed ? TransposedSize(context, kThree, axes[i], more[i],
                                              out[i + 2])
                             : WindowCount(context, axes[i], out[i + 2]);
  }
  return MoveAxis(out, 1, channel_axis);
}

template <int kDims, bool kTransposed>
void ConvShape(InferShapeContext& context) {
  DDim out = OutputDims<kDims, kTransposed>(context);
  if (context.HasInput("Bias")) {
    const auto bias = context.WithRank(context.input("Bias"), 1);
    int64_t& channels = out[ChannelAxis(context, kDims)];
    // Output channels are dim 0 of Filter, the input with index 1.
    const DimHandle filters = {channels, kTransposed ? -1 : 1, 0};
    channels = context.Merge(context.Dim(bias, 0), filters);
  }
  context.SetOutput("Output", out);
}

template <int kDims>
void GradFilterShape(InferShapeContext& context) {
  const DDim out = OutputDims<kDims, false>(context);
  context.Merge(context.input("Output@GRAD"), {out, -1});
  context.SetOutput("Filter@GRAD", context.input("Filter"));
  context.SetOutput("Bias@GRAD", {out[ChannelAxis(context, kDims)]});
}

// The gradient of a transposed convolution by its input is a convolution. Its
// gradient by the filter is that of the convolution, with the input as the
// gradient of the convolution's output. That by the bias is a sum.
std::vector<OpDesc> TransposedGradient(const OpDesc& forward) {
  const bool three = forward.type == "conv3d_transpose";
  const std::string conv = three ? "conv3d" : "conv2d";
  const std::string out_grad = GradName(forward.Output("Output").at(0));
  const auto make = [&](const std::string& type,
                        std::vector<std::pair<std::string, ArgVars>> inputs,
                        const std::string& output, const std::string& of) {
    OpDesc grad;
    grad.type = type;
    grad.inputs = std::move(inputs);
    grad.outputs = {{output, {GradName(forward.Input(of).at(0))}}};
    grad.attributes = forward.attributes;
    grad.attributes.erase("output_padding");
    grad.hint = forward.hint;
    grad.location = forward.location;
    return grad;
  };
  const ArgVars& filter = forward.Input("Filter");
  std::vector<OpDesc> grads = {
      make(conv, {{"Input", {out_grad}}, {"Filter", filter}}, "Output",
           "Input"),
      make(conv + "_grad_filter",
           {{"Input", {out_grad}},
            {"Filter", filter},
            {"Output@GRAD", forward.Input("Input")}},
           "Filter@GRAD", "Filter")};
  if (forward.Input("Bias").empty()) return grads;
  const auto format = forward.attributes.find("data_format");
  const bool last = format != forward.attributes.end() &&
                    std::get<std::string>(format->second) == "NHWC";
  const Ints sums = three  ? Ints{0, 2, 3, 4}
                    : last ? Ints{0, 1, 2}
                           : Ints{0, 2, 3};
  grads.push_back(make("reduce_sum", {{"X", {out_grad}}}, "Out", "Bias"));
  grads.back().attributes = {{"dim", sums}};
  return grads;
}

// Texts of the docs of a convolution or of a transposed one.
struct ConvDocs {
  const char* filter;    // the first two sizes of Filter
  const char* size;      // that of Output, after the size of Input
  const char* strides;   // what they count, after a unit
  const char* paddings;  // likewise
};
constexpr ConvDocs kConvDocs = {
    "out channels, C / groups",
    " + padding - (kernel - 1) * dilation - 1) / stride + 1, rounded down",
    "from one window to the next", "of zeros around the input"};
constexpr ConvDocs kTransposedDocs = {
    "C, out channels / groups",
    " - 1) * stride - padding + dilation * (kernel - 1) + 1 + output_padding",
    "of Output from one of Input to the next",
    "of the result that are left out"};

void ConvArguments(OpSchema& op, int dims, const ConvDocs& docs) {
  const bool three = dims == 3;
  op.TypeVar("T", three ? ListOf(FloatTypes()) : FloatDTypes());
  op.Input(
      "Input", "T",
      three ? "[N, C, D, H, W]." : "[N, C, H, W], or [N, H, W, C] for NHWC.");
  op.Input("Filter", "T",
           Format("[{}, kernel {}].", docs.filter,
                  three ? "depth, height and width" : "height and width"),
           {.keeps_layout = true});
  op.Input("Bias", "T",
           Format("[out channels]: added to every {}.", WordsOf(dims).unit),
           {.optional = true});
  op.Output("Output", "T",
            three ? Format("[N, out channels, D', H', W'], with D' = (D{}.",
                           docs.size)
                  : Format("[N, out channels, H', W'], or [N, H', W', out "
                           "channels] for NHWC, with H' = (H{}.",
                           docs.size));
}

void OutputPadding(OpSchema& op, int dims) {
  const WindowWords words = WordsOf(dims);
  op.Attr<Ints>("output_padding",
                Format("{} that are added at the end, fewer than strides: {}.",
                       words.lines, words.axes))
      .Default(Ints(dims, 0));
}

template <int kDims, bool kTransposed>
void ConvArguments(OpSchema& op) {
  const ConvDocs& docs = kTransposed ? kTransposedDocs : kConvDocs;
  const WindowWords words = WordsOf(kDims);
  ConvArguments(op, kDims, docs);
  op.Attr<Ints>("strides",
                Format("{} {}: {}.", words.units, docs.strides, words.axes))
      .Default(Ints(kDims, 1));
  op.Attr<Ints>("paddings", Format("{} {}: [{}], or [{}].", words.lines,
                                   docs.paddings, words.axes, words.sides))
      .Default(Ints(kDims, 0));
  if (kTransposed && kDims == 2) OutputPadding(op, kDims);
  op.Attr<Ints>("dilations",
                Format("{} from one of the filter to the next: {}.",
                       words.units, words.axes))
      .Default(Ints(kDims, 1));
  op.Attr<int64_t>("groups",
                   "Into how many equal groups the channels are divided; each "
                   "group of the output sees the same one of the input.")
      .Default(int64_t{1});
  if (kTransposed && kDims == 3) OutputPadding(op, kDims);
  if (kDims == 2) {
    op.Attr<std::string>("data_format",
                         "Where the channels of input and output are: NCHW, "
                         "or NHWC with the channels last. Filters are the "
                         "same in both.")
        .Default(std::string("NCHW"))
        .OneOf({"NCHW", "NHWC"});
  }
  op.InferShape(ConvShape<kDims, kTransposed>);
}

void Conv2dSchema(OpSchema& op) {
  op.Doc(
      "2-d convolution, as neural networks mean it (the filter is not "
      "flipped): Output[n, o, y, x] = Bias[o] + the sum over c, i, j of "
      "Filter[o, c, i, j] * Input[n, c, y * stride + i * dilation - padding, "
      "likewise x]. Terms outside of Input are 0; where such a Filter[o, c, i, "
      "j] is NaN or infinite they are 0 or NaN, whichever the kernel finds "
      "faster. In bfloat16 an infinite one may count as NaN.");
  ConvArguments<2, false>(op);
  op.Product().FusedAs("fused_conv2d");
  op.Sizes({{"Input", "8, 16, n, n"},
            {"Filter", "32, 16, 3, 3"},
            {"paddings", "1, 1"}});
}

void Conv3dSchema(OpSchema& op) {
  op.Doc(
      "3-d convolution, as neural networks mean it (the filter is not "
      "flipped): Output[n, o, z, y, x] = Bias[o] + the sum over c, h, i, j of "
      "Filter[o, c, h, i, j] * Input[n, c, z * stride + h * dilation - "
      "padding, likewise y and x]. Elements outside of Input are 0, also "
      "where the filter's are NaN or infinite: such a term is NaN.");
  ConvArguments<3, false>(op);
}

void Conv2dTransposeSchema(OpSchema& op) {
  op.Doc(
      "2-d transposed convolution: what conv2d makes of a gradient. "
      "Output[n, o, y * stride + i * dilation - padding, likewise x] is "
      "Bias[o] + the sum of Input[n, c, y, x] * Filter[c, o, i, j] over all c, "
      "y, x, i and j that lead there.");
  ConvArguments<2, true>(op);
  op.Gradient(TransposedGradient);
}

void Conv3dTransposeSchema(OpSchema& op) {
  op.Doc(
      "Transposed 3-d convolution: for each element of Input its group's "
      "filters, multiplied with it, are added to Output, stride elements "
      "apart.");
  ConvArguments<3, true>(op);
  op.Gradient(TransposedGradient);
}

// Two ops allow each gradient to use a kernel of another library.
constexpr GradientOp GradInput(void (*forward)(OpSchema& op),
                               const char* doc,
                               DDim (*dims)(const InferShapeContext&)) {
  return {.forward = forward,
          .doc = doc,
          .suffix = "_grad_input",
          .inputs = {ShapeOf("Input"), "Filter"},
          .output_grads = {"Output"},
          .wanted = {"Input"},
          .dims = dims};
}
constexpr GradientOp GradFilter(void (*forward)(OpSchema& op),
                                const char* doc,
                                OpSchema::ShapeFn shape) {
  return {.forward = forward,
          .doc = doc,
          .suffix = "_grad_filter",
          .inputs = {"Input", ShapeOf("Filter")},
          .output_grads = {"Output"},
          .wanted = {"Filter", "Bias"},
          .shape = shape};
}

constexpr GradientOp kConv2dGradInput = GradInput(
    Conv2dSchema, "The gradient of conv2d by its Input.", OutputDims<2, false>);
constexpr GradientOp kConv3dGradInput = GradInput(
    Conv3dSchema, "The gradient of conv3d by its Input.", OutputDims<3, false>);
constexpr GradientOp kConv2dGradFilter = GradFilter(
    Conv2dSchema,
    "The gradients of conv2d by its Filter and its Bias. Terms outside of "
    "Input are 0; where such an element of Output@GRAD is NaN or infinite they "
    "are 0 or NaN, whichever the kernel finds faster.",
    GradFilterShape<2>);
constexpr GradientOp kConv3dGradFilter = GradFilter(
    Conv3dSchema,
    "The gradients of conv3d by its Filter and its Bias. Elements outside of "
    "Input are 0, also where those of Output@GRAD are NaN or infinite: such a "
    "term is NaN.",
    GradFilterShape<3>);

}  // namespace

REGISTER_OPERATOR(conv2d, (WithGradient<kConv2dGradInput, kConv2dGradFilter>));
REGISTER_OPERATOR(conv2d_grad_input, GradientSchema<kConv2dGradInput>);
REGISTER_OPERATOR(conv2d_grad_filter, GradientSchema<kConv2dGradFilter>);
REGISTER_OPERATOR(conv2d_transpose, Conv2dTransposeSchema);
REGISTER_OPERATOR(conv3d, (WithGradient<kConv3dGradInput, kConv3dGradFilter>));
REGISTER_OPERATOR(conv3d_grad_input, GradientSchema<kConv3dGradInput>);
REGISTER_OPERATOR(conv3d_grad_filter, GradientSchema<kConv3dGradFilter>);
REGISTER_OPERATOR(conv3d_transpose, Conv3dTransposeSchema);

}  // namespace sluice
