#pragma once

#include <algorithm>

#include "sluice/operators/math/distance/manhattan_distance_functor.h"
#include "sluice/platform/cuda/launch.h"

// The functors of manhattan_distance_functor.h on CUDA. They enqueue kernels on
// the context's stream. Sums are in double.
namespace sluice {

inline constexpr int kDistanceTile = 16;

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

// Each thread computes one result. A block reads each element that it needs
// once.
template <typename T>
__global__ void TiledDistanceKernel(Distances<T> args) {
  SLUICE_SHARED_ARRAY(T, x_tile, [kDistanceTile][kDistanceTile + 1]);
  SLUICE_SHARED_ARRAY(T, y_tile, [kDistanceTile][kDistanceTile + 1]);
  const int row = threadIdx.y;
  const int column = threadIdx.x;
  for (int64_t top = int64_t{blockIdx.y} * kDistanceTile; top < args.n;
       top += int64_t{gridDim.y} * kDistanceTile) {
    for (int64_t left = int64_t{blockIdx.x} * kDistanceTile; left < args.m;
         left += int64_t{gridDim.x} * kDistanceTile) {
      double sum = 0;
      for (int64_t first = 0; first < args.p; first += kDistanceTile) {
        // Threads beyond the end load zeros, whose distance is 0.
        const int64_t k = first + column;
        const int64_t i = top + row;
        const int64_t j = left + row;
        const bool in_x = i < args.n && k < args.p;
        const bool in_y = j < args.m && k < args.p;
        x_tile[row][column] = in_x ? args.x[i * args.p + k] : T{0};
        y_tile[row][column] = in_y ? args.y[j * args.p + k] : T{0};
        __syncthreads();
        for (int step = 0; step < kDistanceTile; ++step) {
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

inline dim3 DistanceGrid(int64_t rows, int64_t columns, int height, int width) {
  constexpr int64_t kMost = 16384;  // kernels loop over the remainder
  return dim3(
      static_cast<unsigned>(std::min((columns + width - 1) / width, kMost)),
      static_cast<unsigned>(std::min((rows + height - 1) / height, kMost)));
}

// out[i, k] is the sum over j of g[i, j] sign(x[i, k] - y[j, k]), where g[i, j]
// is at i * g_row + j * g_column.
template <typename T>
struct DistanceGradSums {
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
class ManhattanDistance<CUDADeviceContext, T> {
 public:
  void operator()(const CUDADeviceContext& context,
                  const Tensor& x,
                  const Tensor& y,
                  Tensor* z) const {
    const Distances<T> args = {x.data<T>(), y.data<T>(), z->data<T>(),
                               x.dims()[0], y.dims()[0], x.dims()[1]};
    if (args.n == 0 || args.m == 0) return;
    Launch<TiledDistanceKernel<T>>(
        {context, DistanceGrid(args.n, args.m, kDistanceTile, kDistanceTile),
         dim3(kDistanceTile, kDistanceTile)},
        args);
  }
};

template <typename T>
class ManhattanDistanceGrad<CUDADeviceContext, T> {
 public:
  void operator()(const CUDADeviceContext& context,
                  const Tensor& x,
                  const Tensor& y,
                  const Tensor& z_grad,
                  Tensor* x_grad,
                  Tensor* y_grad) const {
    const T* g = z_grad.data<T>();
    const int64_t n = x.dims()[0];
    const int64_t m = y.dims()[0];
    const int64_t p = x.dims()[1];
    Fill(context, {x.data<T>(), y.data<T>(), g, m, p, m, 1}, x_grad);
    Fill(context, {y.data<T>(), x.data<T>(), g, n, p, 1, m}, y_grad);
  }

  // nvcc requires a function with a lambda to be public.
  static void Fill(const CUDADeviceContext& context,
                   const DistanceGradSums<T>& sums,
                   Tensor* grad) {
    if (grad == nullptr) return;
    T* out = grad->data<T>();
    ForEach(context, grad->numel(),
            [=] __device__(int64_t index) { out[index] = sums.At(index); });
  }
};

}  // namespace sluice
