#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/indexing/index_plan.h"
#include "sluice/operators/math/indexing/scatter_formulas.h"
#include "sluice/platform/export.h"

// Loops over slices of host memory that indices name, on ParallelFor.
namespace sluice::operators::math {

// places[i] = the slice of X that slice i of `plan` is. Returns the position of
// the first index that is outside of its dim, or -1. Index: int32_t or int64_t.
template <typename Index>
SLUICE_API int64_t FindPlaces(const IndexPlan& plan,
                              const Index* index,
                              int64_t* places);

// out[places[i], :] = from[i, :] for each i of [0, count), in this order; 0
// where `from` is nullptr. `out` has `slices` of them.
SLUICE_API void ScatterSlices(const void* from,
                              const int64_t* places,
                              int64_t count,
                              int64_t slices,
                              size_t slice_bytes,
                              void* out);

// out[places[i], :] = what `reduction` makes of it and from[i, :], in the order
// of i; the same bits for any number of threads. Without `include_self`, of the
// slices of `from` for this place alone. Integers wrap around; NaN is larger
// and smaller than every number. T: every dtype but bool; halves are computed
// in float. `reduction` is not kNone.
template <typename T>
SLUICE_API void ScatterReduce(ScatterReduction reduction,
                              bool include_self,
                              const T* from,
                              const int64_t* places,
                              int64_t count,
                              int64_t slices,
                              int64_t inner,
                              Computed<T>* out);

}  // namespace sluice::operators::math
