#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Cumulative sums and products along one dim of a dense tensor [outer, size,
// inner] in host memory, through ParallelFor. The bits do not depend on the
// number of threads. Floats are computed in double, integers modulo 2^bits.
namespace sluice {

struct ScanPlan {
  int64_t outer = 1, size = 1, inner = 1;
  bool exclusive = false;  // excludes the element; begins with 0 or 1
  bool reverse = false;    // begins with the last element
};

// T: float, double, float16, bfloat16, int32_t, int64_t.
template <typename T>
SLUICE_API void CumulativeSum(const ScanPlan& plan, const T* x, T* out);
template <typename T>
SLUICE_API void CumulativeProduct(const ScanPlan& plan, const T* x, T* out);

// The gradient of CumulativeProduct without division, so that elements may be
// 0: the product of the elements before x times s, where s = out_grad + next x
// * next s. T: float, double.
template <typename T>
SLUICE_API void CumulativeProductGrad(const ScanPlan& plan,
                                      const T* x,
                                      const T* out_grad,
                                      T* x_grad);

}  // namespace sluice
