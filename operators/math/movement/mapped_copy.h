#pragma once

#include <cstddef>

#include "sluice/operators/math/movement/axis_map.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// out[i] = x[maps.At(i)], or *fill where that is -1, in host memory that does
// not overlap, on ParallelFor. An element has `element_size` bytes: 1, 2, 4, 8.
SLUICE_API void MappedCopy(const AxisMaps& maps,
                           const void* x,
                           const void* fill,
                           size_t element_size,
                           void* out);

// x_sums[i] = the sum of out_grad[j] over all j with maps.At(j) == i, on
// ParallelFor, in an order that does not depend on the number of threads.
// T is a float.
template <typename T>
SLUICE_API void MappedSum(const AxisMaps& maps,
                          const T* out_grad,
                          double* x_sums);

// The maps that give the gradient of X as MappedCopy of that of Out with zeros
// for `fill`. False where an element of X is more than one of Out, or steps
// leave some out.
SLUICE_API bool Invert(const AxisMaps& maps, AxisMaps* inverse);

}  // namespace sluice::operators::math
