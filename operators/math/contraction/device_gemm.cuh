#pragma once

#include "sluice/operators/math/blas_size.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {

// A batch of products, with the strides between consecutive matrices.
struct GemmBatch {
  int64_t count = 1;
  int64_t a = 0, b = 0, c = 0;
};

// Multiplies row-major matrices in device memory with cuBLAS. Its matrices are
// column-major, so that it computes C' = op(B)' op(A)'.
template <typename T>
void DeviceGemm(const CUDADeviceContext& device,
                const GemmArgs<T>& g,
                const GemmBatch& batch = {}) {
  constexpr auto kCall = [] {
    if constexpr (sizeof(T) == sizeof(float)) {
      return cublasSgemmStridedBatched;
    } else {
      return cublasDgemmStridedBatched;
    }
  }();
  if (g.m == 0 || g.n == 0 || batch.count == 0) return;
  CheckCublas(
      kCall(device.cublas(), g.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
            g.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, BlasSize(g.n),
            BlasSize(g.m), BlasSize(g.k), &g.alpha, g.b, BlasSize(g.ldb),
            batch.b, g.a, BlasSize(g.lda), batch.a, &g.beta, g.c,
            BlasSize(g.ldc), batch.c, BlasSize(batch.count)),
      "gemm");
}

}  // namespace sluice
