#include <algorithm>
#include <cmath>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/resize/resize_passes.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/resize/resize_axes.h"

namespace sluice {

double ResizedSize(int64_t size, double scale) {
  const double exact = static_cast<double>(size) * scale;
  const double above = std::ceil(exact);
  // 2^-24 is half a unit in the last place of a float32.
  const bool rounded = above - exact <= exact * std::ldexp(1, -24);
  return rounded && above < std::ldexp(1, 23) ? above : std::floor(exact);
}

namespace {

ResizeMode ModeOf(const std::string& name) {
  if (name == "linear") return ResizeMode::kLinear;
  return name == "cubic" ? ResizeMode::kCubic : ResizeMode::kNearest;
}

ResizeCoordinates CoordinatesOf(const std::string& name) {
  if (name == "half_pixel") return ResizeCoordinates::kHalfPixel;
  if (name == "half_pixel_symmetric") {
    return ResizeCoordinates::kHalfPixelSymmetric;
  }
  if (name == "pytorch_half_pixel") return ResizeCoordinates::kPytorchHalfPixel;
  if (name == "tf_crop_and_resize") return ResizeCoordinates::kCropAndResize;
  return name == "align_corners" ? ResizeCoordinates::kAlignCorners
                                 : ResizeCoordinates::kAsymmetric;
}

ResizeRounding RoundingOf(const std::string& name) {
  if (name == "round_prefer_floor") return ResizeRounding::kPreferFloor;
  if (name == "round_prefer_ceil") return ResizeRounding::kPreferCeil;
  return name == "floor" ? ResizeRounding::kFloor : ResizeRounding::kCeil;
}

}  // namespace

std::vector<ResizeAxis> ResizeAxesOf(const KernelQuery& query,
                                     const DDim& x,
                                     const DDim& out) {
  const auto& scales = query.Attr<std::vector<double>>("scales");
  ResizeAxis common;
  common.mode = ModeOf(query.Attr<std::string>("mode"));
  common.coordinates =
      CoordinatesOf(query.Attr<std::string>("coordinate_transformation_mode"));
  common.rounding = RoundingOf(query.Attr<std::string>("nearest_mode"));
  common.cubic_a = query.Attr<double>("cubic_coeff_a");
  common.exclude_outside = query.Attr<bool>("exclude_outside");
  common.antialias = query.Attr<bool>("antialias");
  common.outside = query.Attr<double>("extrapolation_value");
  const auto& roi = query.Attr<std::vector<double>>("roi");
  std::vector<ResizeAxis> axes(static_cast<size_t>(x.rank()), common);
  for (int i = 0; i < x.rank(); ++i) {
    ResizeAxis& axis = axes[i];
    axis.in = x[i];
    axis.out = out[i];
    const auto in = static_cast<double>(x[i]);
    axis.length = static_cast<double>(out[i]);
    axis.scale = axis.length / in;
    axis.sized = scales.empty();
    if (!roi.empty()) {
      axis.start = roi[i];
      axis.end = roi[x.rank() + i];
    }
    if (!scales.empty()) {
      axis.scale = scales[i];
      axis.length = in * axis.scale;
    }
  }
  return axes;
}

namespace {

// Returns the axes for kernels with a table for each axis. Rejects longer axes,
// whose tables would take gigabytes.
std::vector<ResizeAxis> ShortAxesOf(const KernelQuery& query,
                                    const DDim& x,
                                    const DDim& out) {
  constexpr int64_t kLongest = int64_t{1} << 24;
  std::vector<ResizeAxis> axes = ResizeAxesOf(query, x, out);
  for (size_t i = 0; i < axes.size(); ++i) {
    SLUICE_ENFORCE(
        axes[i].Identity() || std::max(axes[i].in, axes[i].out) <= kLongest,
        ErrorCode::kUnimplemented, "resize.long_axis",
        "dim {} of X {} becomes {}; there are kernels for up to {} "
        "elements along a dim",
        i, x, axes[i].out, kLongest);
  }
  return axes;
}

// The type in which T is summed, forward.
template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
class ResizeKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    out_dims_ = query.outputs[0];
    if (out_dims_.numel() == 0) return;
    const auto axes = ShortAxesOf(query, query.inputs[0], out_dims_);
    nearest_ = axes.empty() ||
               (axes[0].mode == ResizeMode::kNearest &&
                axes[0].coordinates != ResizeCoordinates::kCropAndResize);
    if (nearest_) {
      copy_ = ResizeCopy(axes);
      return;
    }
    passes_ = ResizePasses(axes, /*backward=*/false);
    preparation.scratch_bytes =
        static_cast<size_t>(passes_.scratch_elements()) * sizeof(Sum<T>);
  }

  void Compute(OpKernelContext& context) const override {
    T* const out = context.AllocateOutput(0, out_dims_).template data<T>();
    if (out_dims_.numel() == 0) return;
    const T* x = context.Input(0).template data<T>();
    if (nearest_) return copy_.Run(x, sizeof(T), out);
    if constexpr (std::is_floating_point_v<T> || kIsHalf<T>) {
      passes_.Run(x, static_cast<Sum<T>*>(context.scratch()), out);
    }
  }

 private:
  DDim out_dims_;
  bool nearest_ = true;
  ResizeCopy copy_;
  ResizePasses passes_;
};

// X only provides the shape.
template <typename T>
class ResizeGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    x_dims_ = query.inputs[0];
    if (x_dims_.numel() == 0) return;
    passes_ = ResizePasses(ShortAxesOf(query, x_dims_, query.inputs[1]),
                           /*backward=*/true);
    preparation.scratch_bytes =
        static_cast<size_t>(passes_.scratch_elements()) * sizeof(double);
  }

  void Compute(OpKernelContext& context) const override {
    T* const to = context.AllocateOutput(0, x_dims_).template data<T>();
    if (x_dims_.numel() == 0) return;
    passes_.Run(context.Input(1).template data<T>(),
                static_cast<double*>(context.scratch()), to);
  }

 private:
  DDim x_dims_;
  ResizePasses passes_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(resize, ResizeKernel<NumberTypes>);
REGISTER_OP_CPU_KERNEL(resize_grad, ResizeGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
