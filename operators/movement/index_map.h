#pragma once

#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/movement/axis_map.h"
#include "sluice/platform/export.h"

// slice, pad, expand and tile: each element of Out is one of X, or a constant.
namespace sluice::operators {

// A dim that may be counted from the end.
SLUICE_API int AxisOf(int64_t axis, int rank);

// The pads before each of `rank` dims, then those after each, of pads for the
// dims in `axes`: none means all.
SLUICE_API std::vector<int64_t> PadsOfAllDims(const std::vector<int64_t>& pads,
                                              const std::vector<int64_t>& axes,
                                              int rank);

// What numpy makes of start:end:step for an axis of `size` elements. Indices
// past either end are cut, and so are steps.
SLUICE_API math::AxisMap SliceAxis(int64_t size,
                                   int64_t start,
                                   int64_t end,
                                   int64_t step);

// Where the elements of `out` come from in `x`. Both shapes are those that the
// shape function has agreed to.
SLUICE_API math::AxisMaps IndexMapsOf(const framework::KernelQuery& query,
                                      const framework::DDim& x,
                                      const framework::DDim& out);

}  // namespace sluice::operators
