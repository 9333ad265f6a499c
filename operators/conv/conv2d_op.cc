#include "sluice/operators/conv/conv2d_gemm.h"
#include "sluice/operators/conv/conv2d_method.h"
#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/window_shape.h"

namespace sluice {
namespace {

bool ChannelsLast(const InferShapeContext& context) {
  return context.Attr<std::string>("data_format") == "NHWC";
}

std::vector<WindowAxis> ConvAxes(const InferShapeContext& context,
                                 const DDim& filter) {
  std::vector<WindowAxis> axes = WindowAxes(context);
  ReadDilations(context, &axes);
  for (size_t i = 0; i < 2; ++i) {
    if (filter.rank_known()) {
      axes[i].kernel = filter[2 + static_cast<int>(i)];
    }
  }
  return axes;
}

// `in_c` is the number of input channels, -1 if unknown.
void CheckGroups(const InferShapeContext& context,
                 const DDim& input,
                 int64_t in_c,
                 const DDim& filter) {
  const auto groups = context.Attr<int64_t>("groups");
  context.Require(groups >= 1, "conv2d.groups",
                  "groups = {}; expected 1 or more", groups);
  context.Require(in_c % groups == 0 || in_c < 0, "conv2d.input_groups",
                  "groups = {} does not divide the {} channels of Input {}",
                  groups, in_c, input);
  if (!filter.rank_known()) return;
  context.Require(filter[0] % groups == 0 || filter[0] < 0,
                  "conv2d.filter_groups",
                  "groups = {} does not divide the {} output channels of "
                  "Filter {}",
                  groups, filter[0], filter);
  if (in_c < 0 || filter[1] < 0) return;
  context.Require(in_c / groups == filter[1], "conv2d.channels",
                  "Filter {} is for {} input channels in each of {} groups; "
                  "Input {} has {}",
                  filter, filter[1], groups, input, in_c / groups);
}

// Checks everything and returns the output's shape, in data_format's layout.
DDim OutputShape(const InferShapeContext& context) {
  const DDim input = context.WithRank(context.input("Input"), 4);
  const DDim filter = context.WithRank(context.input("Filter"), 4);
  const bool last = ChannelsLast(context);
  const auto in = [&](int axis) {
    return input.rank_known() ? input[axis] : int64_t{-1};
  };
  CheckGroups(context, input, in(last ? 3 : 1), filter);
  const std::vector<WindowAxis> axes = ConvAxes(context, filter);
  const int64_t height = WindowCount(context, axes[0], in(last ? 1 : 2));
  const int64_t width = WindowCount(context, axes[1], in(last ? 2 : 3));
  const int64_t channels = filter.rank_known() ? filter[0] : -1;
  return last ? DDim{in(0), height, width, channels}
              : DDim{in(0), channels, height, width};
}

void Conv2dShape(InferShapeContext& context) {
  DDim output = OutputShape(context);
  if (context.HasInput("Bias")) {
    const ShapeHandle bias = context.WithRank(context.input("Bias"), 1);
    const ShapeHandle filter = context.input("Filter");
    if (filter.dims.rank_known()) {
      const int64_t channels =
          context.Merge(context.Dim(bias, 0), context.Dim(filter, 0));
      output[ChannelsLast(context) ? 3 : 1] = channels;
    }
  }
  context.SetOutput("Output", output);
}

void GradFilterShape(InferShapeContext& context) {
  const ShapeHandle filter = context.input("Filter");
  context.Merge(context.input("Output@GRAD"), {OutputShape(context), -1});
  context.SetOutput("Filter@GRAD", filter);
  context.SetOutput("Bias@GRAD",
                    {filter.dims.rank_known() ? filter.dims[0] : -1});
}

void Conv2dSchema(OpSchema& op) {
  op.Doc(
      "2-d convolution, as neural networks mean it (the filter is not "
      "flipped): Output[n, o, y, x] = Bias[o] + the sum over c, i, j of "
      "Filter[o, c, i, j] * Input[n, c, y * stride + i * dilation - padding, "
      "likewise x]. Terms outside of Input are 0; where such a Filter[o, c, i, "
      "j] is NaN or infinite they are 0 or NaN, whichever the kernel finds "
      "faster. In bfloat16 an infinite one may count as NaN.");
  op.Input("Input", "T", "[N, C, H, W], or [N, H, W, C] for NHWC.");
  op.Input("Filter", "T",
           "[out channels, C / groups, kernel height, kernel width].",
           {.keeps_layout = true});
  op.Input("Bias", "T", "[out channels]: added to every pixel.",
           {.optional = true});
  op.Output("Output", "T",
            "[N, out channels, H', W'], or [N, H', W', out channels] for NHWC, "
            "with H' = (H + padding - (kernel - 1) * dilation - 1) / stride + "
            "1, rounded down.");
  op.TypeVar("T", FloatDTypes());
  op.Attr<Ints>("strides", "Pixels from one window to the next: height, width.")
      .Default(Ints{1, 1});
  op.Attr<Ints>("paddings",
                "Rows and columns of zeros around the input: [height, width], "
                "or [top, bottom, left, right].")
      .Default(Ints{0, 0});
  op.Attr<Ints>("dilations",
                "Pixels from one element of the filter to the next: height, "
                "width.")
      .Default(Ints{1, 1});
  op.Attr<int64_t>("groups",
                   "Into how many equal groups the channels are divided; each "
                   "group of the output sees the same one of the input.")
      .Default(int64_t{1});
  op.Attr<std::string>("data_format",
                       "Where the channels of input and output are: NCHW, or "
                       "NHWC with the channels last. Filters are the same in "
                       "both.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
  op.InferShape(Conv2dShape);
  op.Product().FusedAs("fused_conv2d");
  op.Sizes({{"Input", "8, 16, n, n"},
            {"Filter", "32, 16, 3, 3"},
            {"paddings", "1, 1"}});
}

// Two ops allow each gradient to use a kernel of another library.
constexpr GradientOp kConv2dGradInput = {
    .forward = Conv2dSchema,
    .doc = "The gradient of conv2d by its Input.",
    .suffix = "_grad_input",
    .inputs = {ShapeOf("Input"), "Filter"},
    .output_grads = {"Output"},
    .wanted = {"Input"},
    .dims = OutputShape};

constexpr GradientOp kConv2dGradFilter = {
    .forward = Conv2dSchema,
    .doc =
        "The gradients of conv2d by its Filter and its Bias. Terms outside of "
        "Input are 0; where such an element of Output@GRAD is NaN or infinite "
        "they are 0 or NaN, whichever the kernel finds faster.",
    .suffix = "_grad_filter",
    .inputs = {"Input", ShapeOf("Filter")},
    .output_grads = {"Output"},
    .wanted = {"Filter", "Bias"},
    .shape = GradFilterShape};

class GemmMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               Conv2dDirection direction,
               size_t element) {
    plan_ = PlanConv2dGemm(Conv2dGeometryOf(preparation.query), direction,
                           element, preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(element);
  }
  const Conv2dGeometry& geometry() const { return plan_.g; }

  template <typename T>
  void Forward(const T* input,
               const T* filter,
               const T* bias,
               T* output,
               void* scratch) const {
    Conv2dGemm(plan_, input, filter, bias, output, scratch);
  }
  template <typename T>
  void GradInput(const T* filter,
                 const T* grad,
                 T* input_grad,
                 void* scratch) const {
    const T* const no_bias = nullptr;
    Conv2dGemmGradInput(plan_, filter, grad, no_bias, input_grad, scratch);
  }
  template <typename T>
  void GradFilter(const T* input,
                  const T* grad,
                  T* filter_grad,
                  void* scratch) const {
    Conv2dGemmGradFilter(plan_, input, grad, filter_grad, scratch);
  }

 private:
  Conv2dGemmPlan plan_;
};

template <Conv2dDirection kDirection>
KernelWork GemmWork(const KernelQuery& query) {
  return Conv2dGemmWork(Conv2dGeometryOf(query), kDirection,
                        SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OPERATOR(conv2d, (WithGradient<kConv2dGradInput, kConv2dGradFilter>));
REGISTER_OPERATOR(conv2d_grad_input, GradientSchema<kConv2dGradInput>);
REGISTER_OPERATOR(conv2d_grad_filter, GradientSchema<kConv2dGradFilter>);
REGISTER_OP_CPU_KERNEL(conv2d,
                       EstimatedBy<&GemmWork<Conv2dDirection::kForward>>,
                       Conv2dKernel<GemmMethod, FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv2d_grad_input,
                       EstimatedBy<&GemmWork<Conv2dDirection::kGradInput>>,
                       Conv2dGradInputKernel<GemmMethod, FloatTypes>);
REGISTER_OP_CPU_KERNEL(conv2d_grad_filter,
                       EstimatedBy<&GemmWork<Conv2dDirection::kGradFilter>>,
                       Conv2dGradFilterKernel<GemmMethod, FloatTypes>);

}  // namespace sluice
