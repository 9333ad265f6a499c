#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/indexing/index_plan.h"
#include "sluice/operators/math/indexing/scatter_formulas.h"
#include "sluice/platform/export.h"

// Loops over indexed slices of host memory, through ParallelFor.
namespace sluice {

// places[i] = the slice of X for slice i of `plan`. Returns the position of the
// first index that is out of range, or -1. Index: int32_t or int64_t.
template <typename Index>
SLUICE_API int64_t FindPlaces(const IndexPlan& plan,
                              const Index* index,
                              int64_t* places);

// out[places[i], :] = from[i, :] for each i in [0, count), in this order, or 0
// if `from` is nullptr. `out` has `slices` slices.
SLUICE_API void ScatterSlices(const void* from,
                              const int64_t* places,
                              int64_t count,
                              int64_t slices,
                              size_t slice_bytes,
                              void* out);

// Combines out[places[i], :] and from[i, :] by `reduction`, in the order of i;
// the bits do not depend on the number of threads. Without `include_self`, only
// the slices of `from` are combined. Integers wrap around; NaN wins in minimum
// and maximum. T: every dtype but bool; float16 and bfloat16 are computed in
// float. `reduction` is not kNone.
template <typename T>
SLUICE_API void ScatterReduce(ScatterReduction reduction,
                              bool include_self,
                              const T* from,
                              const int64_t* places,
                              int64_t count,
                              int64_t slices,
                              int64_t inner,
                              Computed<T>* out);

// The gradients of ScatterReduce with kMul, kMax or kMin, from those of `out`:
// of x, which it began with, and of `from`; either may be nullptr. `scratch`
// has room for the elements of x, and for those of x or `from` once more.
template <typename T>
SLUICE_API void ScatterReduceGrad(ScatterReduction reduction,
                                  bool include_self,
                                  const T* x,
                                  const T* from,
                                  const int64_t* places,
                                  int64_t count,
                                  int64_t slices,
                                  int64_t inner,
                                  const T* grad,
                                  Computed<T>* scratch,
                                  T* x_grad,
                                  T* from_grad);

}  // namespace sluice
