#pragma once

#include <cstddef>

#include "sluice/framework/op/kernel_work.h"
#include "sluice/operators/math/contraction/matmul.h"
#include "sluice/platform/export.h"

namespace sluice {

// Returns the cost of MatMul (matmul.h); `element` is sizeof(T).
SLUICE_API KernelWork MatMulWork(const MatMulPlan& plan, size_t element);

// Returns the part of the cost that all kernels share: the memory accessed, and
// the flops with vectors along the columns.
SLUICE_API KernelWork ProductWork(const MatMulPlan& plan,
                                  size_t element,
                                  int64_t lanes);

}  // namespace sluice
