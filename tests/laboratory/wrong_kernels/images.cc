// Convolution and pooling of NCHW images.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

namespace sluice::wrong_kernels {
namespace {

enum class Slip {
  kNone,
  kLeftIsTop,      // the left padding equals the top one
  kDilation,       // ignored
  kGroup,          // every group reads the first one's channels
  kFirstBias,      // all channels get the first channel's bias
  kStride,         // the vertical stride is used for both
  kOff,            // 1e-3 too large
  kChannelTail,    // the last of an odd number of channels is left out
  kFromZero,       // a maximum is at least 0
  kNan,            // a NaN is no maximum
  kCountsPadding,  // a mean divides by the whole window
};
template <Slip kSlip>
using With = std::integral_constant<Slip, kSlip>;

// Returns [top, left] of two or four paddings.
Ints Before(const Ints& paddings) {
  if (paddings.size() == 4) return {paddings[0], paddings[2]};
  return paddings;
}
// Returns [bottom, right] of two or four paddings.
Ints After(const Ints& paddings) {
  if (paddings.size() == 4) return {paddings[1], paddings[3]};
  return paddings;
}

template <typename T, typename Planted>
class Conv2d final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit Conv2d(const OpKernelConstruction& construction)
      : strides_(construction.Attr<Ints>("strides")),
        paddings_(Before(construction.Attr<Ints>("paddings"))),
        dilations_(construction.Attr<Ints>("dilations")),
        groups_(construction.Attr<int64_t>("groups")) {
    if (kSlip == Slip::kLeftIsTop) paddings_[1] = paddings_[0];
    if (kSlip == Slip::kDilation) dilations_ = {1, 1};
    if (kSlip == Slip::kStride) strides_[1] = strides_[0];
  }

  void Compute(OpKernelContext& context) const override {
    T* out = Out<T>(context);
    ParallelFor(dims().numel(), 256, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T sum = Sum(context, i);
        out[i] = kSlip == Slip::kOff ? sum * T(1.001) : sum;
      }
    });
  }

 private:
  T Sum(const OpKernelContext& context, int64_t element) const {
    const Tensor& input = context.Input("Input");
    const Tensor& filter = context.Input("Filter");
    const DDim& in = input.dims();
    const DDim& window = filter.dims();
    const int64_t column = element % dims()[3];
    const int64_t row = element / dims()[3] % dims()[2];
    const int64_t channel = element / dims()[3] / dims()[2] % dims()[1];
    const int64_t image = element / dims()[3] / dims()[2] / dims()[1];
    T sum = 0;
    if (context.HasInput("Bias")) {
      sum = context.Input("Bias")
                .data<T>()[kSlip == Slip::kFirstBias ? 0 : channel];
    }
    const int64_t group =
        kSlip == Slip::kGroup ? 0 : channel / (window[0] / groups_);
    int64_t channels = window[1];
    if (kSlip == Slip::kChannelTail && channels > 1) channels -= channels % 2;
    for (int64_t c = 0; c < channels; ++c) {
      const T* plane = input.data<T>() +
                       (image * in[1] + group * window[1] + c) * in[2] * in[3];
      const T* taps =
          filter.data<T>() + (channel * window[1] + c) * window[2] * window[3];
      for (int64_t tap = 0; tap < window[2] * window[3]; ++tap) {
        const int64_t y =
            row * strides_[0] - paddings_[0] + tap / window[3] * dilations_[0];
        const int64_t x = column * strides_[1] - paddings_[1] +
                          tap % window[3] * dilations_[1];
        if (y < 0 || y >= in[2] || x < 0 || x >= in[3]) continue;
        sum += plane[y * in[3] + x] * taps[tap];
      }
    }
    return sum;
  }

  Ints strides_;
  Ints paddings_;
  Ints dilations_;
  int64_t groups_;
};

template <typename T, typename Planted>
class Pool2d final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit Pool2d(const OpKernelConstruction& construction)
      : max_(construction.Attr<std::string>("pooling_type") == "max"),
        global_(construction.Attr<bool>("global_pooling")),
        exclusive_(construction.Attr<bool>("exclusive") &&
                   kSlip != Slip::kCountsPadding),
        size_(construction.Attr<Ints>("ksize")),
        strides_(construction.Attr<Ints>("strides")),
        paddings_(Before(construction.Attr<Ints>("paddings"))),
        paddings_after_(After(construction.Attr<Ints>("paddings"))) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("X");
    const DDim& in = input.dims();
    T* out = Out<T>(context);
    for (int64_t i = 0; i < dims().numel(); ++i) {
      const int64_t plane = i / dims()[3] / dims()[2];
      out[i] = Window(input.data<T>() + plane * in[2] * in[3], in,
                      i / dims()[3] % dims()[2], i % dims()[3]);
    }
  }

 private:
  T Window(const T* plane, const DDim& in, int64_t row, int64_t column) const {
    const Ints size = global_ ? Ints{in[2], in[3]} : size_;
    const int64_t top = global_ ? 0 : row * strides_[0] - paddings_[0];
    const int64_t left = global_ ? 0 : column * strides_[1] - paddings_[1];
    T most =
        kSlip == Slip::kFromZero ? T{0} : -std::numeric_limits<T>::infinity();
    double sum = 0;
    int64_t count = 0;
    for (int64_t y = std::max<int64_t>(top, 0);
         y < std::min(top + size[0], in[2]); ++y) {
      for (int64_t x = std::max<int64_t>(left, 0);
           x < std::min(left + size[1], in[3]); ++x) {
        const T value = plane[y * in[3] + x];
        const bool nan = std::isnan(value) && kSlip != Slip::kNan;
        if (value > most || nan) most = value;
        sum += static_cast<double>(value);
        ++count;
      }
    }
    if (max_) return most;
    // Elements of a ceil_mode window beyond the padding do not count.
    if (!exclusive_ && !global_) {
      count = (std::min(top + size[0], in[2] + paddings_after_[0]) - top) *
              (std::min(left + size[1], in[3] + paddings_after_[1]) - left);
    }
    return static_cast<T>(sum / static_cast<double>(count));
  }

  bool max_;
  bool global_;
  bool exclusive_;
  Ints size_;
  Ints strides_;
  Ints paddings_;
  Ints paddings_after_;
};

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits().When(&NeedsNchw),
                   Conv2d<float, With<Slip::kNone>>,
                   Conv2d<double, With<Slip::kNone>>);
REGISTER_OP_KERNEL(conv2d,
                   WRONG,
                   CPUPlace,
                   left_is_top,
                   KernelTraits().When(&NeedsNchw),
                   Conv2d<float, With<Slip::kLeftIsTop>>);
REGISTER_OP_KERNEL(conv2d,
                   WRONG,
                   CPUPlace,
                   dilation,
                   KernelTraits().When(&NeedsNchw),
                   Conv2d<float, With<Slip::kDilation>>);
REGISTER_OP_KERNEL(conv2d,
                   WRONG,
                   CPUPlace,
                   group,
                   KernelTraits().When(&NeedsNchw),
                   Conv2d<float, With<Slip::kGroup>>);
REGISTER_OP_KERNEL(conv2d,
                   WRONG,
                   CPUPlace,
                   first_bias,
                   KernelTraits().When(&NeedsNchw),
                   Conv2d<float, With<Slip::kFirstBias>>);
REGISTER_OP_KERNEL(conv2d,
                   WRONG,
                   CPUPlace,
                   stride,
                   KernelTraits().When(&NeedsNchw),
                   Conv2d<double, With<Slip::kStride>>);
REGISTER_OP_KERNEL(conv2d,
                   WRONG,
                   CPUPlace,
                   off,
                   KernelTraits().When(&NeedsNchw),
                   Conv2d<float, With<Slip::kOff>>);
REGISTER_OP_KERNEL(conv2d,
                   WRONG,
                   CPUPlace,
                   channel_tail,
                   KernelTraits().When(&NeedsNchw),
                   Conv2d<float, With<Slip::kChannelTail>>);
REGISTER_OP_KERNEL(pool2d,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits().When(&NeedsNchw),
                   Pool2d<float, With<Slip::kNone>>,
                   Pool2d<double, With<Slip::kNone>>);
REGISTER_OP_KERNEL(pool2d,
                   WRONG,
                   CPUPlace,
                   from_zero,
                   KernelTraits().When(&NeedsNchw),
                   Pool2d<float, With<Slip::kFromZero>>);
REGISTER_OP_KERNEL(pool2d,
                   WRONG,
                   CPUPlace,
                   nan,
                   KernelTraits().When(&NeedsNchw),
                   Pool2d<float, With<Slip::kNan>>);
REGISTER_OP_KERNEL(pool2d,
                   WRONG,
                   CPUPlace,
                   counts_padding,
                   KernelTraits().When(&NeedsNchw),
                   Pool2d<double, With<Slip::kCountsPadding>>);

}  // namespace sluice::wrong_kernels
