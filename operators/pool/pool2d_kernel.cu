#include "sluice/operators/pool/pool2d_kernel.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

// A pixel or a window of one channel. `base` is the first element of the plane
// of x, whose pixels have a stride of `step`.
struct Spot {
  int64_t base, step;
  int64_t plane;  // first element of Out's plane
  int64_t row, column;

  __device__ Spot(const Pool2dGeometry& g, int64_t i, int64_t h, int64_t w) {
    const int64_t c = g.nhwc ? i % g.c : i / (h * w) % g.c;
    const int64_t pixel = (g.nhwc ? i / g.c : i) % (h * w);
    const int64_t n = i / (h * w * g.c);
    step = g.nhwc ? g.c : 1;
    base = n * g.c * g.in_h * g.in_w + (g.nhwc ? c : c * g.in_h * g.in_w);
    plane = n * g.c * g.out_h * g.out_w + (g.nhwc ? c : c * g.out_h * g.out_w);
    row = pixel / w;
    column = pixel % w;
  }
};

// The pixels of a window that are inside the input.
struct Window {
  int64_t top, bottom, left, right;
  int64_t height, width;  // including padding

  __device__ Window(const Pool2dGeometry& g, int64_t row, int64_t column)
      : top(row * g.stride_h - g.pad_top),
        bottom(min(top + g.kernel_h, g.in_h)),
        left(column * g.stride_w - g.pad_left),
        right(min(left + g.kernel_w, g.in_w)),
        height(min(g.kernel_h, g.end_h - top)),
        width(min(g.kernel_w, g.end_w - left)) {
    top = max(top, int64_t{0});
    left = max(left, int64_t{0});
  }
  // Returns the number of pixels that an average is divided by.
  __device__ int64_t Divisor(const Pool2dGeometry& g) const {
    return g.exclusive ? (bottom - top) * (right - left) : height * width;
  }
};

// Returns the first pixel of the window that holds its maximum, or the first
// NaN, as an index into its plane.
template <typename T>
__device__ int64_t FindMaximum(const Pool2dGeometry& g,
                               const Spot& spot,
                               const T* x) {
  const Window window(g, spot.row, spot.column);
  int64_t best = window.top * g.in_w + window.left;
  T most = x[spot.base + best * spot.step];
  for (int64_t h = window.top; h < window.bottom; ++h) {
    for (int64_t w = window.left; w < window.right; ++w) {
      const int64_t pixel = h * g.in_w + w;
      const T value = x[spot.base + pixel * spot.step];
      if (value > most || (value != value && most == most)) {
        best = pixel;
        most = value;
      }
    }
  }
  return best;
}

template <typename T>
__device__ T Average(const Pool2dGeometry& g, const Spot& spot, const T* x) {
  const Window window(g, spot.row, spot.column);
  const auto pixels = static_cast<double>(window.Divisor(g));
  double sum = 0;  // float would lose digits in large windows
  double shares = 0;
  for (int64_t h = window.top; h < window.bottom; ++h) {
    for (int64_t w = window.left; w < window.right; ++w) {
      const double value = x[spot.base + (h * g.in_w + w) * spot.step];
      sum += value;
      if constexpr (sizeof(T) == sizeof(double)) shares += value / pixels;
    }
  }
  // Only a sum of doubles may overflow.
  const bool overflows = sizeof(T) == sizeof(double) && sum - sum != 0;
  return static_cast<T>(overflows ? shares : sum / pixels);
}

template <typename T>
class Pool2dCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
    geometry_ = Pool2dGeometryOf(preparation.query, dims_);
  }

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input("X").data<T>();
    T* out = context.AllocateOutput("Out", dims_).template data<T>();
    const Pool2dGeometry g = geometry_;
    ForEach(context.device_context<CUDADeviceContext>(), dims_.numel(),
            [=] __device__(int64_t i) {
              const Spot spot(g, i, g.out_h, g.out_w);
              out[i] = g.max
                           ? x[spot.base + FindMaximum(g, spot, x) * spot.step]
                           : Average(g, spot, x);
            });
  }

 private:
  Pool2dGeometry geometry_;
  DDim dims_;
};

// The windows along one axis that contain pixel `at`.
struct Covering {
  int64_t begin, end;
  __device__ Covering(
      int64_t at, int64_t kernel, int64_t stride, int64_t pad, int64_t windows)
      : begin(at + pad < kernel ? 0 : (at + pad - kernel) / stride + 1),
        end(min((at + pad) / stride + 1, windows)) {}
};

// Returns the sum of a pixel's gradients from all windows that contain it.
// `best` has the pixel of each window's maximum; it is null for averages.
template <typename T>
__device__ T Gather(const Pool2dGeometry& g,
                    const Spot& spot,
                    const T* grad,
                    const int64_t* best) {
  const Covering rows(spot.row, g.kernel_h, g.stride_h, g.pad_top, g.out_h);
  const Covering columns(spot.column, g.kernel_w, g.stride_w, g.pad_left,
                         g.out_w);
  const int64_t pixel = spot.row * g.in_w + spot.column;
  T sum = 0;
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    for (int64_t w = columns.begin; w < columns.end; ++w) {
      const int64_t at = spot.plane + (h * g.out_w + w) * spot.step;
      if (best == nullptr) {
        sum += grad[at] / static_cast<T>(Window(g, h, w).Divisor(g));
      } else if (best[at] == pixel) {
        sum += grad[at];
      }
    }
  }
  return sum;
}

template <typename T>
class Pool2dGradCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const DDim& out = preparation.query.inputs.back();
    dims_ = preparation.query.inputs[0];
    geometry_ = Pool2dGeometryOf(preparation.query, out);
    windows_ = out.numel();
    if (geometry_.max) {
      preparation.scratch_bytes =
          static_cast<size_t>(windows_) * sizeof(int64_t);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const T* grad = context.Input("Out@GRAD").data<T>();
    T* x_grad = context.AllocateOutput("X@GRAD", dims_).template data<T>();
    const Pool2dGeometry g = geometry_;
    int64_t* best = nullptr;
    if (g.max) {
      best = static_cast<int64_t*>(context.scratch());
      const T* x = context.Input("X").data<T>();
      ForEach(device, windows_, [=] __device__(int64_t i) {
        best[i] = FindMaximum(g, Spot(g, i, g.out_h, g.out_w), x);
      });
    }
    ForEach(device, dims_.numel(), [=] __device__(int64_t i) {
      x_grad[i] = Gather(g, Spot(g, i, g.in_h, g.in_w), grad, best);
    });
  }

 private:
  Pool2dGeometry geometry_;
  DDim dims_;
  int64_t windows_ = 0;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(pool2d, Pool2dCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(pool2d_grad, Pool2dGradCUDAKernel<FloatTypes>);

}  // namespace sluice
