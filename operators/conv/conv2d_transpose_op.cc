#include "sluice/operators/conv/conv2d_gemm.h"
#include "sluice/operators/conv/conv2d_transpose_kernel.h"
#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/conv/transpose_gradient.h"
#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/window_shape.h"

namespace sluice {
namespace {

// Returns height and width of the input. Checks strides, paddings and
// dilations. Kernel sizes are -1 if `filter` is unknown.
std::vector<WindowAxis> TransposeAxes(const InferShapeContext& context,
                                      const DDim& filter) {
  std::vector<WindowAxis> axes = WindowAxes(context);
  ReadDilations(context, &axes);
  for (size_t i = 0; i < 2; ++i) {
    if (filter.rank_known()) {
      axes[i].kernel = filter[2 + static_cast<int>(i)];
      context.Require(axes[i].kernel != 0, "conv2d_transpose.kernel",
                      "the kernel's {} is 0; expected 1 or more", axes[i].name);
    }
  }
  return axes;
}

// Returns the output's size along an axis of `size` elements, -1 if unknown:
// (size - 1) * stride - padding + dilation * (kernel - 1) + 1 + output_padding.
int64_t TransposedSize(const InferShapeContext& context,
                       const WindowAxis& axis,
                       int64_t output_padding,
                       int64_t size) {
  context.Require(size != 0, "conv2d_transpose.empty",
                  "the {} of Input {} is 0; expected 1 or more", axis.name,
                  context.input("Input").dims);
  context.Require(
      output_padding >= 0 && output_padding < axis.stride,
      "conv2d_transpose.output_padding",
      "output_padding of the {} is {}; expected 0 or more, and less than the "
      "stride, {}",
      axis.name, output_padding, axis.stride);
  if (axis.kernel < 0 || size < 0) return kUnknownDim;
  int64_t reach = 0;
  int64_t out = 0;
  const bool overflow =
      __builtin_mul_overflow(size - 1, axis.stride, &out) ||
      __builtin_mul_overflow(axis.kernel - 1, axis.dilation, &reach) ||
      __builtin_add_overflow(out, reach, &out) ||
      __builtin_add_overflow(out, output_padding + 1, &out);
  context.Require(!overflow, "conv2d_transpose.overflow",
                  "the {} of the output does not fit into 64 bits: {} elements "
                  "with stride {}, a kernel of {} with dilation {}",
                  axis.name, size, axis.stride, axis.kernel, axis.dilation);
  // Both paddings are non-negative, so that nothing overflows.
  const bool cut_away =
      axis.pad_before >= out || axis.pad_after >= out - axis.pad_before;
  context.Require(!cut_away, "conv2d_transpose.nothing",
                  "paddings {} and {} leave nothing of the {} of the output, "
                  "which has {} elements without them",
                  axis.pad_before, axis.pad_after, axis.name, out);
  return out - axis.pad_before - axis.pad_after;
}

// Checks `in_c`, the input channels; returns the output's, -1 if unknown.
int64_t OutputChannels(const InferShapeContext& context,
                       int64_t in_c,
                       const ShapeHandle& filter) {
  const auto groups = context.Attr<int64_t>("groups");
  context.Require(groups >= 1, "conv2d_transpose.groups",
                  "groups = {}; expected 1 or more", groups);
  context.Require(in_c % groups == 0 || in_c < 0,
                  "conv2d_transpose.input_groups",
                  "groups = {} does not divide the {} channels of Input {}",
                  groups, in_c, context.input("Input").dims);
  if (!filter.dims.rank_known()) return kUnknownDim;
  context.Require(in_c < 0 || filter.dims[0] < 0 || filter.dims[0] == in_c,
                  "conv2d_transpose.channels",
                  "Filter {} is for {} input channels; Input {} has {}",
                  filter.dims, filter.dims[0], context.input("Input").dims,
                  in_c);
  if (filter.dims[1] < 0) return kUnknownDim;
  int64_t channels = 0;
  context.Require(!__builtin_mul_overflow(filter.dims[1], groups, &channels),
                  "conv2d_transpose.channels_overflow",
                  "groups = {} times the {} output channels of each in Filter "
                  "{} does not fit into 64 bits",
                  groups, filter.dims[1], filter.dims);
  return channels;
}

void TransposeShape(InferShapeContext& context) {
  const ShapeHandle input = context.WithRank(context.input("Input"), 4);
  const ShapeHandle filter = context.WithRank(context.input("Filter"), 4);
  const bool last = context.Attr<std::string>("data_format") == "NHWC";
  const auto in = [&](int axis) {
    return input.dims.rank_known() ? input.dims[axis] : kUnknownDim;
  };
  int64_t channels = OutputChannels(context, in(last ? 3 : 1), filter);
  if (context.HasInput("Bias")) {
    const ShapeHandle bias = context.WithRank(context.input("Bias"), 1);
    channels = context.Merge(context.Dim(bias, 0), DimHandle{channels, -1, -1});
  }
  const std::vector<WindowAxis> axes = TransposeAxes(context, filter);
  const Ints& more = WindowInts(context, "output_padding");
  const int64_t height =
      TransposedSize(context, axes[0], more[0], in(last ? 1 : 2));
  const int64_t width =
      TransposedSize(context, axes[1], more[1], in(last ? 2 : 3));
  context.SetOutput("Output", last ? DDim{in(0), height, width, channels}
                                   : DDim{in(0), channels, height, width});
}

std::vector<OpDesc> TransposeGradient(const OpDesc& forward) {
  const auto format = forward.attributes.find("data_format");
  const bool last = format != forward.attributes.end() &&
                    std::get<std::string>(format->second) == "NHWC";
  return ConvTransposeGradient(forward, "conv2d",
                               last ? Ints{0, 1, 2} : Ints{0, 2, 3});
}

void TransposeSchema(OpSchema& op) {
  op.Doc(
      "2-d transposed convolution: what conv2d makes of a gradient. "
      "Output[n, o, y * stride + i * dilation - padding, likewise x] is "
      "Bias[o] + the sum of Input[n, c, y, x] * Filter[c, o, i, j] over all c, "
      "y, x, i and j that lead there.");
  op.TypeVar("T", FloatDTypes());
  op.Input("Input", "T", "[N, C, H, W], or [N, H, W, C] for NHWC.");
  op.Input("Filter", "T",
           "[C, out channels / groups, kernel height, kernel width].",
           {.keeps_layout = true});
  op.Input("Bias", "T", "[out channels]: added to every pixel.",
           {.optional = true});
  op.Output("Output", "T",
            "[N, out channels, H', W'], or [N, H', W', out channels] for NHWC, "
            "with H' = (H - 1) * stride - padding + dilation * (kernel - 1) + "
            "1 + output_padding.");
  op.Attr<Ints>("strides",
                "Pixels of Output from one pixel of Input to the next: height, "
                "width.")
      .Default(Ints{1, 1});
  op.Attr<Ints>("paddings",
                "Rows and columns of the result that are left out: [height, "
                "width], or [top, bottom, left, right].")
      .Default(Ints{0, 0});
  op.Attr<Ints>("output_padding",
                "Rows at the bottom and columns at the right that are added, "
                "fewer than strides: height, width.")
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
  op.InferShape(TransposeShape).Gradient(TransposeGradient);
}

template <typename T>
class Conv2dTransposeKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.outputs[0];
    if (dims_.numel() == 0) return;
    plan_ = PlanConv2dGemm(Conv2dTransposeGeometryOf(query),
                           Conv2dDirection::kGradInput, sizeof(T),
                           preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("Input");
    const Tensor& filter = context.Input("Filter");
    const Tensor* bias =
        context.HasInput("Bias") ? &context.Input("Bias") : nullptr;
    Tensor& output = context.AllocateOutput("Output", dims_);
    if (output.numel() == 0) return;
    Conv2dGemmGradInput(plan_, filter.data<T>(), input.data<T>(),
                        bias == nullptr ? nullptr : bias->data<T>(),
                        output.data<T>(), static_cast<T*>(context.scratch()));
  }

 private:
  Conv2dGemmPlan plan_;
  DDim dims_;
};

KernelWork TransposeWork(const KernelQuery& query) {
  return Conv2dGemmWork(Conv2dTransposeGeometryOf(query),
                        Conv2dDirection::kGradInput,
                        SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OPERATOR(conv2d_transpose, TransposeSchema);
REGISTER_OP_CPU_KERNEL(conv2d_transpose,
                       EstimatedBy<&TransposeWork>,
                       Conv2dTransposeKernel<FloatsAndWidenedHalves>);

}  // namespace sluice
