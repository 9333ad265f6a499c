#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

enum class Mode : uint8_t { kLinear, kNearest, kCubic };
enum class Padding : uint8_t { kZeros, kBorder, kReflection };

// The elements along one axis that an element of Out is computed from.
struct Taps {
  int count = 0;
  int64_t index[4] = {};
  double weight[4] = {};

  void Add(int64_t at, double factor) {
    index[count] = at;
    weight[count++] = factor;
  }
};

// Returns the weight at `distance` (R. Keys, "Cubic convolution interpolation",
// IEEE Transactions on Acoustics, Speech and Signal Processing 29, 1981).
double Cubic(double distance) {
  constexpr double kA = -0.75;
  const double x = std::fabs(distance);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA : 0;
}

// Reflects `x` at `low` and `high` until it is between them.
double Reflected(double x, double low, double high) {
  const double range = high - low;
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  if (range == 0) return low;
  double past = std::fmod(std::fabs(x - low), 2 * range);
  if (past > range) past = 2 * range - past;
  return low + past;
}

struct Sampler {
  Mode mode;
  Padding padding;
  bool align_corners;

  Taps TapsOf(double position, int64_t size) const {
    const auto length = static_cast<double>(size);
    const double low = align_corners ? 0 : -0.5;
    const double high = length - 1 - low;
    double x = align_corners ? (position + 1) / 2 * (length - 1)
                             : ((position + 1) * length - 1) / 2;
    if (mode == Mode::kNearest) x = std::nearbyint(x);
    if (x < low || x > high) {
      if (padding == Padding::kBorder) x = std::clamp(x, 0.0, length - 1);
      if (padding == Padding::kReflection) x = Reflected(x, low, high);
    }
    Taps taps;
    if (std::isnan(x)) {
      taps.Add(0, x);
      return taps;
    }
    if (mode == Mode::kNearest) {
      Add(x, 1, size, &taps);
      return taps;
    }
    const double first = std::floor(x), ratio = x - first;
    if (mode == Mode::kLinear) {
      Add(first, 1 - ratio, size, &taps);
      Add(first + 1, ratio, size, &taps);
      return taps;
    }
    for (int i = -1; i <= 2; ++i) {
      Add(first + i, Cubic(ratio - i), size, &taps);
    }
    return taps;
  }

 private:
  // `x` is integral and may be far outside.
  void Add(double x, double weight, int64_t size, Taps* taps) const {
    if (weight == 0) return;
    const auto last = static_cast<double>(size - 1);
    if (x < 0 || x > last) {
      if (padding == Padding::kZeros) return;
      const double low = align_corners ? 0 : -0.5;
      if (padding == Padding::kReflection) x = Reflected(x, low, last - low);
      x = std::clamp(x, 0.0, last);
    }
    taps->Add(static_cast<int64_t>(x), weight);
  }
};

template <typename T>
class GridSampleKernel final : public OpKernel {
 public:
  explicit GridSampleKernel(const OpKernelConstruction& construction) {
    const auto& mode = construction.Attr<std::string>("mode");
    const auto& padding = construction.Attr<std::string>("padding_mode");
    sampler_.mode = mode == "linear"    ? Mode::kLinear
                    : mode == "nearest" ? Mode::kNearest
                                        : Mode::kCubic;
    sampler_.padding = padding == "zeros"    ? Padding::kZeros
                       : padding == "border" ? Padding::kBorder
                                             : Padding::kReflection;
    sampler_.align_corners = construction.Attr<bool>("align_corners");
  }

  void Compute(OpKernelContext& context) const override {
    constexpr int64_t kGrain = 256;
    const Tensor& x = context.Input(0);
    const Tensor& grid = context.Input(1);
    const int dims = x.dims().rank() - 2;
    DDim out_dims = x.dims();
    for (int i = 0; i < dims; ++i) {
      out_dims[i + 2] = grid.dims()[i + 1];
    }
    T* const out = context.AllocateOutput(0, out_dims).template data<T>();
    if (out_dims.numel() == 0) return;
    int64_t sizes[3] = {1, 1, 1};
    for (int i = 0; i < dims; ++i) {
      sizes[3 - dims + i] = x.dims()[i + 2];
    }
    const int64_t channels = x.dims()[1];
    const int64_t volume = sizes[0] * sizes[1] * sizes[2];
    const int64_t points = grid.numel() / dims / x.dims()[0];
    ParallelFor(x.dims()[0] * points, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / points * channels;
        Taps taps[3];
        taps[0].Add(0, 1);
        for (int d = 0; d < dims; ++d) {
          const double position = grid.data<T>()[i * dims + dims - 1 - d];
          const int at = 3 - dims + d;
          taps[at] = sampler_.TapsOf(position, sizes[at]);
        }
        for (int64_t c = 0; c < channels; ++c) {
          out[(image + c) * points + i % points] = static_cast<T>(
              Sum(taps, sizes, x.data<T>() + (image + c) * volume));
        }
      }
    });
  }

 private:
  static double Sum(const Taps (&taps)[3],
                    const int64_t (&sizes)[3],
                    const T* x) {
    double sum = 0;
    for (int i = 0; i < taps[0].count; ++i) {
      for (int j = 0; j < taps[1].count; ++j) {
        const int64_t row = taps[0].index[i] * sizes[1] + taps[1].index[j];
        for (int k = 0; k < taps[2].count; ++k) {
          sum += taps[0].weight[i] * taps[1].weight[j] * taps[2].weight[k] *
                 x[row * sizes[2] + taps[2].index[k]];
        }
      }
    }
    return sum;
  }

  Sampler sampler_ = {};
};

}  // namespace

REGISTER_OP_CPU_KERNEL(grid_sample, GridSampleKernel<FloatTypes>);

}  // namespace sluice
