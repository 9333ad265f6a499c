#pragma once

#include <cstddef>

#include "sluice/framework/op/kernel_work.h"
#include "sluice/operators/math/conv/conv2d_gemm.h"
#include "sluice/platform/export.h"

// Estimates for the convolutions of this folder. `element` is sizeof(T). The
// constants were fitted to layers of many networks on one core with AVX-512;
// what they multiply is in the code of each kernel.
namespace sluice::operators::math {

// By im2col and Gemm (conv2d_gemm.h).
SLUICE_API framework::KernelWork Conv2dGemmWork(const Conv2dGeometry& g,
                                                Conv2dDirection direction,
                                                size_t element);
// conv2d_rows.h.
SLUICE_API framework::KernelWork Conv2dRowsWork(const Conv2dGeometry& g,
                                                size_t element);
// conv2d_direct.h.
SLUICE_API framework::KernelWork Conv2dDirectWork(const Conv2dGeometry& g,
                                                  Conv2dDirection direction,
                                                  size_t element);
// conv2d_thin.h.
SLUICE_API framework::KernelWork Conv2dThinWork(const Conv2dGeometry& g,
                                                size_t element);
// conv2d_winograd.h, of float; `m` is 2 or 4. Filters that are not constant are
// packed for each call.
SLUICE_API framework::KernelWork Conv2dWinogradWork(const Conv2dGeometry& g,
                                                    int64_t m,
                                                    bool constant_filter);
// conv2d_pointwise.h, of float.
SLUICE_API framework::KernelWork Conv2dPointwiseWork(const Conv2dGeometry& g,
                                                     bool constant_filter);

// What all kernels of a direction touch: the bytes that are read once, and
// those that are written, whose cache lines are read before.
SLUICE_API double Conv2dBytes(const Conv2dGeometry& g,
                              Conv2dDirection direction,
                              size_t element);
// Multiplications and additions.
SLUICE_API double Conv2dFlops(const Conv2dGeometry& g);

}  // namespace sluice::operators::math
