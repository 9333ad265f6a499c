#include "sluice/framework/op_registry.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice::operators {
namespace {

using framework::KernelTraits;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using platform::CUDADeviceContext;

constexpr int kBlockColumns = 32;
constexpr int kBlockRows = 8;
constexpr int kTile = 16;

// z[i, j] is the distance of row i of x [n, p] to row j of y [m, p].
template <typename T>
struct Distances {
  const T* x;
  const T* y;
  T* z;
  int64_t n;
  int64_t m;
  int64_t p;
};

// One thread a result.
template <typename T>
__global__ void DistanceKernel(Distances<T> args) {
  for (int64_t i = int64_t{blockIdx.y} * blockDim.y + threadIdx.y; i < args.n;
       i += int64_t{gridDim.y} * blockDim.y) {
    for (int64_t j = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; j < args.m;
         j += int64_t{gridDim.x} * blockDim.x) {
      double sum = 0;
      for (int64_t k = 0; k < args.p; ++k) {
        sum += fabs(args.x[i * args.p + k] - args.y[j * args.p + k]);
      }
      args.z[i * args.m + j] = static_cast<T>(sum);
    }
  }
}

// The same, but a block reads every element that its results share only once.
template <typename T>
__global__ void TiledDistanceKernel(Distances<T> args) {
  SLUICE_SHARED_ARRAY(T, x_tile, [kTile][kTile + 1]);
  SLUICE_SHARED_ARRAY(T, y_tile, [kTile][kTile + 1]);
  const int row = threadIdx.y;
  const int column = threadIdx.x;
  for (int64_t top = int64_t{blockIdx.y} * kTile; top < args.n;
       top += int64_t{gridDim.y} * kTile) {
    for (int64_t left = int64_t{blockIdx.x} * kTile; left < args.m;
         left += int64_t{gridDim.x} * kTile) {
      double sum = 0;
      for (int64_t first = 0; first < args.p; first += kTile) {
        // Threads beyond the end bring zeros, whose distance is 0.
        const int64_t k = first + column;
        const int64_t i = top + row;
        const int64_t j = left + row;
        const bool in_x = i < args.n && k < args.p;
        const bool in_y = j < args.m && k < args.p;
        x_tile[row][column] = in_x ? args.x[i * args.p + k] : T{0};
        y_tile[row][column] = in_y ? args.y[j * args.p + k] : T{0};
        __syncthreads();
        for (int step = 0; step < kTile; ++step) {
          sum += fabs(x_tile[row][step] - y_tile[column][step]);
        }
        __syncthreads();
      }
      if (top + row < args.n && left + column < args.m) {
        args.z[(top + row) * args.m + left + column] = static_cast<T>(sum);
      }
    }
  }
}

dim3 Grid(int64_t rows, int64_t columns, int height, int width) {
  constexpr int64_t kMost = 16384;  // the kernels go on where it ends
  return dim3(
      static_cast<unsigned>(std::min((columns + width - 1) / width, kMost)),
      static_cast<unsigned>(std::min((rows + height - 1) / height, kMost)));
}

template <typename T>
Distances<T> Arguments(OpKernelContext& context) {
  const Tensor& x = context.Input("X");
  const Tensor& y = context.Input("Y");
  Tensor& out = context.AllocateOutput("Out", {x.dims()[0], y.dims()[0]});
  return {x.data<T>(), y.data<T>(), out.data<T>(),
          x.dims()[0], y.dims()[0], x.dims()[1]};
}

template <typename T>
class DistanceCUDAKernel final : public OpKernel {
 public:
  explicit DistanceCUDAKernel(const OpKernelConstruction&) {}

  void Compute(OpKernelContext& context) const override {
    const Distances<T> args = Arguments<T>(context);
    if (args.n == 0 || args.m == 0) return;
    platform::Launch<DistanceKernel<T>>(
        {context.device_context<CUDADeviceContext>(),
         Grid(args.n, args.m, kBlockRows, kBlockColumns),
         dim3(kBlockColumns, kBlockRows)},
        args);
  }
};

template <typename T>
class TiledDistanceCUDAKernel final : public OpKernel {
 public:
  explicit TiledDistanceCUDAKernel(const OpKernelConstruction&) {}

  void Compute(OpKernelContext& context) const override {
    const Distances<T> args = Arguments<T>(context);
    if (args.n == 0 || args.m == 0) return;
    platform::Launch<TiledDistanceKernel<T>>(
        {context.device_context<CUDADeviceContext>(),
         Grid(args.n, args.m, kTile, kTile), dim3(kTile, kTile)},
        args);
  }
};

// out[i, k] is the sum over j of g[i, j] sign(x[i, k] - y[j, k]), where g[i, j]
// is at i * g_row + j * g_column.
template <typename T>
struct GradSums {
  const T* x;
  const T* y;
  const T* g;
  int64_t m;
  int64_t p;
  int64_t g_row;
  int64_t g_column;

  __device__ T At(int64_t index) const {
    const int64_t i = index / p;
    const int64_t k = index % p;
    double sum = 0;
    for (int64_t j = 0; j < m; ++j) {
      const T difference = x[index] - y[j * p + k];
      const double weight = g[i * g_row + j * g_column];
      if (difference > 0) sum += weight;
      if (difference < 0) sum -= weight;
    }
    return static_cast<T>(sum);
  }
};

template <typename T>
class DistanceGradCUDAKernel final : public OpKernel {
 public:
  explicit DistanceGradCUDAKernel(const OpKernelConstruction&) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const Tensor& y = context.Input("Y");
    const T* g = context.Input("Out@GRAD").data<T>();
    const int64_t n = x.dims()[0];
    const int64_t m = y.dims()[0];
    const int64_t p = x.dims()[1];
    Fill(context, "X@GRAD", {x.data<T>(), y.data<T>(), g, m, p, m, 1}, x);
    Fill(context, "Y@GRAD", {y.data<T>(), x.data<T>(), g, n, p, 1, m}, y);
  }

  static void Fill(OpKernelContext& context,
                   std::string_view name,
                   const GradSums<T>& sums,
                   const Tensor& like) {
    if (!context.HasOutput(name)) return;
    T* out = context.AllocateOutput(name, like.dims()).template data<T>();
    platform::ForEach(
        context.device_context<CUDADeviceContext>(), like.numel(),
        [=] __device__(int64_t index) { out[index] = sums.At(index); });
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(manhattan_distance,
                        DistanceCUDAKernel<float>,
                        DistanceCUDAKernel<double>);
REGISTER_OP_KERNEL(manhattan_distance,
                   PLAIN,
                   CUDAPlace,
                   tiled,
                   KernelTraits().Priority(10),
                   TiledDistanceCUDAKernel<float>,
                   TiledDistanceCUDAKernel<double>);
REGISTER_OP_CUDA_KERNEL(manhattan_distance_grad,
                        DistanceGradCUDAKernel<float>,
                        DistanceGradCUDAKernel<double>);

}  // namespace sluice::operators
