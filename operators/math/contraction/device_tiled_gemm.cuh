#pragma once

#include <algorithm>

#include "sluice/operators/math/contraction/device_gemm.cuh"

namespace sluice {

inline constexpr int kGemmTile = 16;

// Each thread computes one element of C. A block reads each element of A and B
// that it needs once. The terms of each tile are summed separately.
template <typename T>
__global__ void TiledGemmKernel(GemmArgs<T> g, GemmBatch batch) {
  SLUICE_SHARED_ARRAY(T, a_tile, [kGemmTile][kGemmTile + 1]);
  SLUICE_SHARED_ARRAY(T, b_tile, [kGemmTile][kGemmTile + 1]);
  const int row = threadIdx.y;
  const int column = threadIdx.x;
  const int64_t a_row = g.transpose_a ? 1 : g.lda;
  const int64_t a_column = g.transpose_a ? g.lda : 1;
  const int64_t b_row = g.transpose_b ? 1 : g.ldb;
  const int64_t b_column = g.transpose_b ? g.ldb : 1;
  const int64_t i = int64_t{blockIdx.x} * kGemmTile + row;
  for (int64_t product = blockIdx.z; product < batch.count;
       product += gridDim.z) {
    const T* a = g.a + product * batch.a;
    const T* b = g.b + product * batch.b;
    for (int64_t left = int64_t{blockIdx.y} * kGemmTile; left < g.n;
         left += int64_t{gridDim.y} * kGemmTile) {
      const int64_t j = left + column;
      T sum = 0;
      for (int64_t first = 0; first < g.k; first += kGemmTile) {
        // Threads beyond the end load zeros into both tiles.
        const bool in_a = i < g.m && first + column < g.k;
        const bool in_b = j < g.n && first + row < g.k;
        a_tile[row][column] =
            in_a ? a[i * a_row + (first + column) * a_column] : T{0};
        b_tile[row][column] =
            in_b ? b[(first + row) * b_row + j * b_column] : T{0};
        __syncthreads();
        T terms = 0;
        for (int step = 0; step < kGemmTile; ++step) {
          terms += a_tile[row][step] * b_tile[step][column];
        }
        sum += terms;
        __syncthreads();
      }
      if (i < g.m && j < g.n) {
        T& c = g.c[product * batch.c + i * g.ldc + j];
        c = g.beta == T{0} ? g.alpha * sum : g.alpha * sum + g.beta * c;
      }
    }
  }
}

// Computes like DeviceGemm, with our own kernel.
template <typename T>
void DeviceTiledGemm(const CUDADeviceContext& device,
                     const GemmArgs<T>& g,
                     const GemmBatch& batch = {}) {
  if (g.m == 0 || g.n == 0 || batch.count == 0) return;
  constexpr int64_t kMost = 65535;  // the limit of a grid's y and z
  const auto tiles = [](int64_t size) {
    return (size + kGemmTile - 1) / kGemmTile;
  };
  const dim3 grid(static_cast<unsigned>(tiles(g.m)),
                  static_cast<unsigned>(std::min(tiles(g.n), kMost)),
                  static_cast<unsigned>(std::min(batch.count, kMost)));
  Launch<TiledGemmKernel<T>>({device, grid, dim3(kGemmTile, kGemmTile)}, g,
                             batch);
}

}  // namespace sluice
