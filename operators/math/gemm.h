#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

// One product of row-major matrices: C = alpha op(A) op(B) + beta C, where
// op(A) is [m, k], op(B) is [k, n] and C is [m, n]; op transposes if the flag
// is set. lda, ldb and ldc are the strides in elements between the rows of the
// stored matrices: A is stored as [m, k], or as [k, m] if transpose_a.
template <typename T>
struct GemmArgs {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  T alpha = 1;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T beta = 0;
  T* c = nullptr;
  int64_t ldc = 0;
};

// Computes the product through ParallelFor; inside a shard it runs on the
// calling thread. C overlaps neither A nor B. With beta 0, C is not read; with
// k 0, C = beta C. The order of summation does not depend on the number of
// threads. Allocates nothing. T: float, double.
template <typename T>
SLUICE_API void Gemm(const GemmArgs<T>& args);

}  // namespace sluice
