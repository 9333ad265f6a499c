#pragma once

#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/resize/resize_axis.h"
#include "sluice/platform/export.h"

namespace sluice {

// Returns the number of elements that `size` elements become at `scale`, which
// is finite and positive: size * scale rounded down, as a double. If the
// product of a float32 scale is integral up to rounding, it is that integer.
SLUICE_API double ResizedSize(int64_t size, double scale);

// Returns the axes of X for resize and resize_grad. The shape function has
// already checked both shapes.
SLUICE_API std::vector<ResizeAxis> ResizeAxesOf(const KernelQuery& query,
                                                const DDim& x,
                                                const DDim& out);

}  // namespace sluice
