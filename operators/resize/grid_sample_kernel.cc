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

double CubicSlope(double distance) {
  constexpr double kA = -0.75;
  const double x = std::fabs(distance);
  const double slope = x <= 1  ? (3 * (kA + 2) * x - 2 * (kA + 3)) * x
                       : x < 2 ? (3 * kA * x - 10 * kA) * x + 8 * kA
                               : 0;
  return distance < 0 ? -slope : slope;
}

// Reflects `x` at `low` and `high` until it is between them; changes the sign
// of `slope` as often.
double Reflected(double x, double low, double high, double* slope) {
  const double range = high - low;
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  if (range == 0) {
    *slope = 0;
    return low;
  }
  double past = std::fmod(std::fabs(x - low), 2 * range);
  if ((past > range) != (x < low)) *slope = -*slope;
  if (past > range) past = 2 * range - past;
  return low + past;
}

// What the elements of X along an axis are multiplied with: their weights in
// Out, or the derivatives of these by the position.
enum class Factors : uint8_t { kWeights, kSlopes };

struct Sampler {
  Mode mode;
  Padding padding;
  bool align_corners;

  Taps TapsOf(double position, int64_t size, Factors factors) const {
    const auto length = static_cast<double>(size);
    const double low = align_corners ? 0 : -0.5;
    const double high = length - 1 - low;
    double slope = (align_corners ? length - 1 : length) / 2;
    double x = align_corners ? (position + 1) / 2 * (length - 1)
                             : ((position + 1) * length - 1) / 2;
    if (mode == Mode::kNearest) x = std::nearbyint(x);
    if (x < low || x > high) {
      if (padding == Padding::kBorder) {
        x = std::clamp(x, 0.0, length - 1);
        slope = 0;
      }
      if (padding == Padding::kReflection) x = Reflected(x, low, high, &slope);
    }
    const bool slopes = factors == Factors::kSlopes;
    const double first = std::floor(x), ratio = x - first;
    Taps taps;
    if (std::isnan(x)) {
      taps.Add(0, x);
    } else if (mode == Mode::kNearest) {
      Add(x, slopes ? 0 : 1, size, &taps);
    } else if (mode == Mode::kLinear) {
      Add(first, slopes ? -slope : 1 - ratio, size, &taps);
      Add(first + 1, slopes ? slope : ratio, size, &taps);
    } else {
      for (int i = -1; i <= 2; ++i) {
        const double weight =
            slopes ? slope * CubicSlope(ratio - i) : Cubic(ratio - i);
        Add(first + i, weight, size, &taps);
      }
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
      double slope = 0;
      if (padding == Padding::kReflection) {
        x = Reflected(x, low, last - low, &slope);
      }
      x = std::clamp(x, 0.0, last);
    }
    taps->Add(static_cast<int64_t>(x), weight);
  }
};

// X and the points of Grid as 3-d: leading sizes are 1.
struct Volumes {
  int dims;
  int64_t images, channels, volume, points;
  int64_t sizes[3] = {1, 1, 1};

  Volumes(const DDim& x, const DDim& grid)
      : dims(x.rank() - 2),
        images(x[0]),
        channels(x[1]),
        volume(x.Product(2, x.rank())),
        points(grid.Product(1, dims + 1)) {
    for (int i = 0; i < dims; ++i) {
      sizes[3 - dims + i] = x[i + 2];
    }
  }
};

using Taps3 = Taps[3];

// Calls visit(index, weight) for each element of a volume that counts.
template <typename Visit>
void ForEachTap(const Taps3& taps, const Volumes& volumes, Visit visit) {
  for (int i = 0; i < taps[0].count; ++i) {
    for (int j = 0; j < taps[1].count; ++j) {
      const int64_t row =
          taps[0].index[i] * volumes.sizes[1] + taps[1].index[j];
      const double weight = taps[0].weight[i] * taps[1].weight[j];
      for (int k = 0; k < taps[2].count; ++k) {
        visit(row * volumes.sizes[2] + taps[2].index[k],
              weight * taps[2].weight[k]);
      }
    }
  }
}

template <typename T>
double SumOf(const Taps3& taps, const Volumes& volumes, const T* x) {
  double sum = 0;
  ForEachTap(taps, volumes,
             [&](int64_t at, double weight) { sum += weight * x[at]; });
  return sum;
}

constexpr int64_t kGrain = 256;

template <typename T>
class GridSampleBase : public OpKernel {
 public:
  explicit GridSampleBase(const OpKernelConstruction& construction) {
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

 protected:
  // Sets the taps of a point along each axis. Along `sloping`, if it is one,
  // they have slopes.
  void TapsOf(const T* point,
              const Volumes& volumes,
              Taps3* taps,
              int sloping = -1) const {
    const int first = 3 - volumes.dims;
    for (int axis = 0; axis < 3; ++axis) {
      Taps& along = (*taps)[axis];
      along = Taps();
      if (axis < first) {
        along.Add(0, 1);
      } else {
        along = sampler_.TapsOf(
            point[2 - axis], volumes.sizes[axis],
            axis == sloping ? Factors::kSlopes : Factors::kWeights);
      }
    }
  }

 private:
  Sampler sampler_ = {};
};

template <typename T>
class GridSampleKernel final : public GridSampleBase<T> {
 public:
  using GridSampleBase<T>::GridSampleBase;

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& grid = context.Input(1);
    const Volumes volumes(x.dims(), grid.dims());
    DDim out_dims = x.dims();
    for (int i = 0; i < volumes.dims; ++i) {
      out_dims[i + 2] = grid.dims()[i + 1];
    }
    T* const out = context.AllocateOutput(0, out_dims).template data<T>();
    if (out_dims.numel() == 0) return;
    const int64_t points = volumes.points;
    ParallelFor(
        volumes.images * points, kGrain, [&](int64_t begin, int64_t end) {
          Taps3 taps;
          for (int64_t i = begin; i < end; ++i) {
            const int64_t image = i / points * volumes.channels;
            this->TapsOf(grid.data<T>() + i * volumes.dims, volumes, &taps);
            for (int64_t c = 0; c < volumes.channels; ++c) {
              out[(image + c) * points + i % points] = static_cast<T>(SumOf(
                  taps, volumes, x.data<T>() + (image + c) * volumes.volume));
            }
          }
        });
  }
};

template <typename T>
class GridSampleGradKernel final : public GridSampleBase<T> {
 public:
  using GridSampleBase<T>::GridSampleBase;

  void Prepare(KernelPreparation& preparation) override {
    preparation.scratch_bytes =
        preparation.query.inputs[0].numel() * sizeof(double);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& grid = context.Input("Grid");
    const T* grad = context.Input("Out@GRAD").data<T>();
    const Volumes volumes(x.dims(), grid.dims());
    if (context.HasOutput("X@GRAD")) {
      T* const x_grad = context.AllocateOutput("X@GRAD", x.dims()).data<T>();
      auto* const sums = static_cast<double*>(context.scratch());
      std::fill_n(sums, x.numel(), 0.0);
      Scatter(volumes, grid.data<T>(), grad, sums);
      std::copy_n(sums, x.numel(), x_grad);
    }
    if (context.HasOutput("Grid@GRAD")) {
      Tensor& grid_grad = context.AllocateOutput("Grid@GRAD", grid.dims());
      Slopes(volumes, x.data<T>(), grid.data<T>(), grad, grid_grad.data<T>());
    }
  }

 private:
  // Each thread has channels of its own: the bits do not depend on them.
  void Scatter(const Volumes& volumes,
               const T* grid,
               const T* grad,
               double* x_grad) const {
    const int64_t planes = volumes.images * volumes.channels;
    const int64_t points = volumes.points;
    ParallelFor(planes, 1, [&](int64_t begin, int64_t end) {
      Taps3 taps;
      while (begin < end) {
        const int64_t image = begin / volumes.channels;
        const int64_t last = std::min(end, (image + 1) * volumes.channels);
        for (int64_t i = 0; i < points; ++i) {
          this->TapsOf(grid + (image * points + i) * volumes.dims, volumes,
                       &taps);
          for (int64_t plane = begin; plane < last; ++plane) {
            const double value = grad[plane * points + i];
            double* const to = x_grad + plane * volumes.volume;
            ForEachTap(taps, volumes, [&](int64_t at, double weight) {
              to[at] += weight * value;
            });
          }
        }
        begin = last;
      }
    });
  }

  void Slopes(const Volumes& volumes,
              const T* x,
              const T* grid,
              const T* grad,
              T* grid_grad) const {
    const int64_t points = volumes.points, dims = volumes.dims;
    ParallelFor(volumes.images * points, kGrain,
                [&](int64_t begin, int64_t end) {
                  Taps3 taps;
                  for (int64_t at = begin * dims; at < end * dims; ++at) {
                    const int64_t i = at / dims;
                    const int64_t image = i / points * volumes.channels;
                    this->TapsOf(grid + i * dims, volumes, &taps,
                                 2 - static_cast<int>(at % dims));
                    double sum = 0;
                    for (int64_t c = image; c < image + volumes.channels; ++c) {
                      sum += grad[c * points + i % points] *
                             SumOf(taps, volumes, x + c * volumes.volume);
                    }
                    grid_grad[at] = static_cast<T>(sum);
                  }
                });
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(grid_sample, GridSampleKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(grid_sample_grad, GridSampleGradKernel<FloatTypes>);

}  // namespace sluice
