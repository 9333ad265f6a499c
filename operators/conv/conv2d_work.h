#pragma once

#include <cstddef>

#include "sluice/framework/op/kernel_work.h"
#include "sluice/operators/conv/conv2d_gemm.h"
#include "sluice/platform/export.h"

// The work of the convolutions in this folder. `element` is sizeof(T). The code
// of each kernel explains what is counted.
namespace sluice {

// Returns the work of im2col and Gemm (conv2d_gemm.h).
SLUICE_API KernelWork Conv2dGemmWork(const Conv2dGeometry& g,
                                     Conv2dDirection direction,
                                     size_t element);
// Returns the work of conv2d_rows.h.
SLUICE_API KernelWork Conv2dRowsWork(const Conv2dGeometry& g, size_t element);
// Returns the work of conv2d_direct.h.
SLUICE_API KernelWork Conv2dDirectWork(const Conv2dGeometry& g,
                                       Conv2dDirection direction,
                                       size_t element);
// Returns the work of conv2d_thin.h.
SLUICE_API KernelWork Conv2dThinWork(const Conv2dGeometry& g, size_t element);
// Returns the work of conv2d_winograd.h, in float; `m` is 2 or 4. Filters that
// are not constant are packed in each call.
SLUICE_API KernelWork Conv2dWinogradWork(const Conv2dGeometry& g,
                                         int64_t m,
                                         bool constant_filter);
// Returns the work of conv2d_pointwise.h, in float.
SLUICE_API KernelWork Conv2dPointwiseWork(const Conv2dGeometry& g,
                                          bool constant_filter);

// The bytes that every kernel accesses: those it reads once, and those it
// writes, whose cache lines are read first.
SLUICE_API double Conv2dBytes(const Conv2dGeometry& g,
                              Conv2dDirection direction,
                              size_t element);
// Returns the number of multiplications and additions.
SLUICE_API double Conv2dFlops(const Conv2dGeometry& g);

}  // namespace sluice
