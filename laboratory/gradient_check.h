#pragma once

#include "sluice/framework/op/op_schema.h"
#include "sluice/laboratory/kernel_check.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Compares the gradient of an op, computed by the ops that `gradient` appends,
// with central differences in float64: |a - n| <= 1e-6 max(1, |a|, |n|), where
// n is the difference over a step of 1e-4. Uses the op's examples of at most
// 400 elements. Mistakes have the check "gradient"; so does an error that
// running the op raises. No example is left if the op has no float64 kernel, or
// a required output is not floating-point. `report.kernel` is null.
SLUICE_API KernelReport CheckGradient(const OpSchema& schema,
                                      OpSchema::GradientFn gradient,
                                      const KernelCheckOptions& options = {});

}  // namespace sluice::framework
