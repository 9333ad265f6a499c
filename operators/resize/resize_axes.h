#pragma once

#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/resize/resize_axis.h"
#include "sluice/platform/export.h"

namespace sluice::operators {

// The elements that `size` elements become at `scale`, which is finite and more
// than 0: size * scale rounded down, as a double. Products of float32 scales
// that are an integer but for rounding are that integer.
SLUICE_API double ResizedSize(int64_t size, double scale);

// The axes of X, for resize and resize_grad. Both shapes are those that the
// shape function has agreed to.
SLUICE_API std::vector<math::ResizeAxis> ResizeAxesOf(
    const framework::KernelQuery& query,
    const framework::DDim& x,
    const framework::DDim& out);

}  // namespace sluice::operators
