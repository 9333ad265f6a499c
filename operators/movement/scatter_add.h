#pragma once

#include <cstdint>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/export.h"

namespace sluice {

// out[o, s, :] = the sum of x[o, i, :] over all i with index[i] == s, or 0; in
// order of i unless an index repeats often (RepeatsOften). x is [outer, count,
// inner], out [outer, size, inner], not empty. Runs through ParallelFor; the
// bits do not depend on the number of threads. Indices are in [-size, size);
// negative ones count from the end. T is a float, 16-bit ones are summed in
// float32; Index is int32_t or int64_t.
template <typename T, typename Index>
SLUICE_API void ScatterAdd(const T* x,
                           const Index* index,
                           int64_t outer,
                           int64_t size,
                           int64_t count,
                           int64_t inner,
                           Computed<T>* out);

}  // namespace sluice
