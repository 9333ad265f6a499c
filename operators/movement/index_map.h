#pragma once

#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/movement/axis_map.h"
#include "sluice/platform/export.h"

// slice, pad, expand, tile and roll: elements of Out are elements of X or a
// constant.
namespace sluice {

// Returns a dim that may be counted from the end as one from the start.
SLUICE_API int AxisOf(int64_t axis, int rank);

// Returns the pads before each of `rank` dims, followed by those after each.
// `pads` is for the dims in `axes`; no axes means all dims.
SLUICE_API std::vector<int64_t> PadsOfAllDims(const std::vector<int64_t>& pads,
                                              const std::vector<int64_t>& axes,
                                              int rank);

// Returns the elements that NumPy selects by start:end:step on an axis of
// `size` elements. Indices and steps past either end are clipped.
SLUICE_API AxisMap SliceAxis(int64_t size,
                             int64_t start,
                             int64_t end,
                             int64_t step);

// Returns the elements of `x` that `out` is made of. The shape function has
// already checked both shapes.
SLUICE_API AxisMaps IndexMapsOf(const KernelQuery& query,
                                const DDim& x,
                                const DDim& out);

}  // namespace sluice
