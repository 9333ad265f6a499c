#pragma once

#include <cstddef>

#include "sluice/operators/math/movement/axis_map.h"
#include "sluice/platform/export.h"

namespace sluice {

// out[i] = x[maps.At(i)], or *fill if that is -1, through ParallelFor. Both are
// in host memory and do not overlap. `element_size` is 1, 2, 4 or 8 bytes.
SLUICE_API void MappedCopy(const AxisMaps& maps,
                           const void* x,
                           const void* fill,
                           size_t element_size,
                           void* out);

// x_sums[i] = the sum of out_grad[j] over all j with maps.At(j) == i, through
// ParallelFor. The order does not depend on the number of threads. T is a
// float.
template <typename T>
SLUICE_API void MappedSum(const AxisMaps& maps,
                          const T* out_grad,
                          double* x_sums);

// Finds the maps by which MappedCopy, with `fill` 0, computes the gradient of X
// from that of Out. Returns false if Out holds an element of X more than once,
// or if steps skip elements.
SLUICE_API bool Invert(const AxisMaps& maps, AxisMaps* inverse);

}  // namespace sluice
