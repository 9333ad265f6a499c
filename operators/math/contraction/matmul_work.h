#pragma once

#include <cstddef>

#include "sluice/framework/op/kernel_work.h"
#include "sluice/operators/math/contraction/matmul.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// The estimate for MatMul (matmul.h); `element` is sizeof(T).
SLUICE_API framework::KernelWork MatMulWork(const MatMulPlan& plan,
                                            size_t element);

// What every kernel of a product touches, and its multiplications and
// additions with vectors along the columns.
SLUICE_API framework::KernelWork ProductWork(const MatMulPlan& plan,
                                             size_t element,
                                             int64_t lanes);

}  // namespace sluice::operators::math
