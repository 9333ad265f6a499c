#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sluice/operators/math/gemm.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/volume_windows.h"
#include "sluice/operators/window_shape.h"

namespace sluice {
namespace {

// Requires dim `axis` of an input to be `expected`, if both are known.
void RequireSize(const InferShapeContext& context,
                 const char* input,
                 int axis,
                 int64_t expected) {
  const DDim dims = context.input(input);
  const int64_t size = dims.rank_known() ? dims.at(axis) : kUnknownDim;
  context.Require(size < 0 || expected < 0 || size == expected,
                  "deformable_conv.size",
                  "dim {} of input {} {} is {}; expected {}", axis, input, dims,
                  size, expected);
}

// Checks the channels, and returns those of the output.
int64_t DeformableChannels(const InferShapeContext& context,
                           const DDim& input,
                           const DDim& filter) {
  const auto groups = context.Attr<int64_t>("groups");
  const auto parts = context.Attr<int64_t>("deformable_groups");
  context.Require(
      filter[0] < 0 || filter[0] % groups == 0, "deformable_conv.groups",
      "groups = {} does not divide the {} output channels of Filter {}", groups,
      filter[0], filter);
  context.Require(input[1] < 0 || input[1] % groups == 0,
                  "deformable_conv.input_groups",
                  "groups = {} does not divide the {} channels of Input {}",
                  groups, input[1], input);
  RequireSize(context, "Filter", 1, input[1] < 0 ? -1 : input[1] / groups);
  context.Require(
      input[1] < 0 || input[1] % parts == 0, "deformable_conv.parts",
      "deformable_groups = {} does not divide the {} channels of Input {}",
      parts, input[1], input);
  if (context.HasInput("Bias")) RequireSize(context, "Bias", 0, filter[0]);
  return filter[0];
}

// Checks that `input` has `numbers` for each element of a filter and each group
// of offsets, and the batch and size of `out`.
void CheckMoves(const InferShapeContext& context,
                const char* input,
                int64_t numbers,
                const DDim& filter,
                const DDim& out) {
  context.WithRank(context.input(input), 4);
  int64_t channels = context.Attr<int64_t>("deformable_groups");
  bool fits = !__builtin_mul_overflow(channels, numbers, &channels);
  for (const int64_t size : {filter[2], filter[3]}) {
    if (size < 0 || channels < 0) {
      channels = kUnknownDim;
    } else {
      fits &= !__builtin_mul_overflow(channels, size, &channels);
    }
  }
  context.Require(fits, "deformable_conv.overflow",
                  "the offsets of Filter {} do not fit into 64 bits", filter);
  for (const int axis : {0, 2, 3}) {
    RequireSize(context, input, axis, out[axis]);
  }
  RequireSize(context, input, 1, channels);
}

void DeformableConvShape(InferShapeContext& context) {
  const DDim input = context.WithRank(context.input("Input"), 4);
  const DDim filter = context.WithRank(context.input("Filter"), 4);
  if (context.HasInput("Bias")) context.WithRank(context.input("Bias"), 1);
  DDim out = {input[0], DeformableChannels(context, input, filter), -1, -1};
  std::vector<WindowAxis> axes = WindowAxes(context);
  ReadDilations(context, &axes);
  for (int i = 0; i < 2; ++i) {
    axes[static_cast<size_t>(i)].kernel = filter[i + 2];
    out[i + 2] =
        WindowCount(context, axes[static_cast<size_t>(i)], input[i + 2]);
  }
  CheckMoves(context, "Offset", 2, filter, out);
  if (context.HasInput("Mask")) CheckMoves(context, "Mask", 1, filter, out);
  context.SetOutput("Output", out);
}

void DeformableConvSchema(OpSchema& op) {
  op.Doc(
      "conv2d whose filter reads the image at other places: those of a window "
      "plus Offset, by bilinear interpolation between pixels, with zeros "
      "outside of the image, times Mask (X. Zhu et al., \"Deformable ConvNets "
      "v2\", CVPR 2019). Numbers are those of ONNX's operator DeformConv. A "
      "pixel whose weight is 0 does not count, even if it is NaN or infinite.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("Input", "T", "Images [N, C, H, W].");
  op.Input("Offset", "T",
           "[N, deformable_groups * filter height * filter width * 2, H', W']: "
           "how far down and to the right each element of a window moves.");
  op.Input("Filter", "T", "[M, C / groups, height, width].");
  op.Input("Bias", "T", "[M]: added to each channel.", {.optional = true});
  op.Input("Mask", "T",
           "[N, deformable_groups * filter height * filter width, H', W']: a "
           "factor for each element of a window.",
           {.optional = true});
  op.Output("Output", "T", "[N, M, H', W'].");
  op.Attr<Ints>("strides", "From one window to the next: down, and right.")
      .Default(Ints{1, 1});
  op.Attr<Ints>("paddings",
                "How many zeros surround Input: height, width; or top, bottom, "
                "left, right.")
      .Default(Ints{0, 0});
  op.Attr<Ints>("dilations", "From one element of a window to the next.")
      .Default(Ints{1, 1});
  op.Attr<int64_t>("groups", "The channels are convolved in so many groups.")
      .Default(int64_t{1})
      .AtLeast(1);
  op.Attr<int64_t>("deformable_groups",
                   "The channels of Input move in so many groups.")
      .Default(int64_t{1})
      .AtLeast(1);
  op.InferShape(DeformableConvShape);
  op.NoGradient("it only predicts so far");
}

// Interpolates between the pixels around (y, x), with zeros outside.
template <typename T>
T PixelAt(const T* image, const VolumeWindows& windows, T y, T x) {
  const int64_t height = windows.axes[1].in, width = windows.axes[2].in;
  // Written so that NaN is outside, too.
  const bool near = y > -1 && y < static_cast<T>(height) && x > -1 &&
                    x < static_cast<T>(width);
  if (!near) return 0;
  const T top = std::floor(y), left = std::floor(x);
  const T down = y - top, right = x - left;
  T sum = 0;
  const auto add = [&](int64_t row, int64_t column, T weight) {
    const bool inside =
        row >= 0 && row < height && column >= 0 && column < width;
    if (inside && weight != 0) sum += weight * image[row * width + column];
  };
  const auto row = static_cast<int64_t>(top);
  const auto column = static_cast<int64_t>(left);
  add(row, column, (1 - down) * (1 - right));
  add(row, column + 1, (1 - down) * right);
  add(row + 1, column, down * (1 - right));
  add(row + 1, column + 1, down * right);
  return sum;
}

// The patches of some rows of windows, a product of matrices for each group.
template <typename T>
class DeformableConvKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    in_ = query.inputs[0];
    out_ = query.outputs[0];
    const DDim& filter = query.inputs[2];
    windows_ = WindowsOver(query, in_, Ints{filter[2], filter[3]});
    groups_ = query.Attr<int64_t>("groups");
    parts_ = query.Attr<int64_t>("deformable_groups");
    if (out_.numel() == 0) return;
    constexpr int64_t kElements = int64_t{1} << 18;  // of patches
    const int64_t line = in_[1] * windows_.kernel() * out_[3];
    rows_ =
        std::clamp<int64_t>(kElements / std::max<int64_t>(line, 1), 1, out_[2]);
    preparation.scratch_bytes = static_cast<size_t>(rows_ * line) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    T* const out = context.AllocateOutput("Output", out_).template data<T>();
    if (out_.numel() == 0) return;
    const T* const bias =
        context.HasInput("Bias") ? context.Input("Bias").data<T>() : nullptr;
    const int64_t pixels = out_[2] * out_[3];
    for (int64_t i = 0; i < out_[0] * out_[1]; ++i) {
      std::fill_n(out + i * pixels, pixels,
                  bias == nullptr ? T{0} : bias[i % out_[1]]);
    }
    const T* const filter = context.Input("Filter").data<T>();
    auto* const patches = static_cast<T*>(context.scratch());
    for (int64_t image = 0; image < out_[0]; ++image) {
      for (int64_t row = 0; row < out_[2]; row += rows_) {
        const int64_t rows = std::min(rows_, out_[2] - row);
        Gather(context, image, row, rows, patches);
        Multiply(filter, patches, rows * out_[3],
                 out + image * out_[1] * pixels + row * out_[3]);
      }
    }
  }

 private:
  // patches[channel][kernel][window] of windows in rows [first, first + rows).
  void Gather(const OpKernelContext& context,
              int64_t image,
              int64_t first,
              int64_t rows,
              T* patches) const {
    const int64_t taps = windows_.kernel(), pixels = out_[2] * out_[3];
    const int64_t of_part = in_[1] / parts_, width = out_[3];
    const int64_t begins = first * width, count = rows * width;
    const T* const offsets = context.Input("Offset").data<T>();
    const T* const masks =
        context.HasInput("Mask") ? context.Input("Mask").data<T>() : nullptr;
    const T* const x = context.Input("Input").data<T>();
    const int64_t grain = std::max<int64_t>(1, kPatchGrain / (4 * count));
    ParallelFor(in_[1] * taps, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t channel = i / taps, tap = i % taps;
        const int64_t move = (image * parts_ + channel / of_part) * taps + tap;
        const T* const down = offsets + 2 * move * pixels + begins;
        const T* const mask =
            masks == nullptr ? nullptr : masks + move * pixels + begins;
        const T* const plane = x + (image * in_[1] + channel) * windows_.in();
        T* const to = patches + i * count;
        for (int64_t n = 0; n < count; ++n) {
          const T y = PlaceOf(1, first + n / width, tap) + down[n];
          const T pixel =
              PixelAt(plane, windows_, y,
                      PlaceOf(2, n % width, tap) + down[pixels + n]);
          to[n] = mask == nullptr ? pixel : mask[n] * pixel;
        }
      }
    });
  }

  // The place along an axis of an element of the filter in a window.
  T PlaceOf(size_t axis, int64_t window, int64_t tap) const {
    const VolumeAxis& along = windows_.axes[axis];
    const int64_t width = windows_.axes[2].kernel;
    const int64_t at = axis == 1 ? tap / width : tap % width;
    return static_cast<T>(window * along.stride + at * along.dilation -
                          along.pad_before);
  }

  void Multiply(const T* filter,
                const T* patches,
                int64_t count,
                T* out) const {
    const int64_t outputs = out_[1] / groups_;
    const int64_t patch = in_[1] / groups_ * windows_.kernel();
    for (int64_t group = 0; group < groups_; ++group) {
      Gemm<T>({.m = outputs,
               .n = count,
               .k = patch,
               .a = filter + group * outputs * patch,
               .lda = patch,
               .b = patches + group * patch * count,
               .ldb = count,
               .beta = 1,
               .c = out + group * outputs * out_[2] * out_[3],
               .ldc = out_[2] * out_[3]});
    }
  }

  DDim in_;
  DDim out_;
  VolumeWindows windows_;
  int64_t groups_ = 1;
  int64_t parts_ = 1;  // groups of offsets
  int64_t rows_ = 1;   // of windows whose patches fit into the scratch memory
};

}  // namespace

REGISTER_OPERATOR(deformable_conv, DeformableConvSchema);
REGISTER_OP_CPU_KERNEL(deformable_conv, DeformableConvKernel<FloatTypes>);

}  // namespace sluice
