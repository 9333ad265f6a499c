#pragma once

#include "sluice/framework/laboratory/kernel_check.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Compares the gradient of an op, by the ops that `gradient` makes of it, with
// central differences in float64: |a - n| <= 1e-6 max(1, |a|, |n|), where n is
// the difference over a step of 1e-4. Of the op's examples it takes those of at
// most 400 elements; mistakes are of the check "gradient". No example is left
// where the op has no float64 kernel, or an output that is no float is needed.
// `report.kernel` is null. What running the op raises is a mistake.
SLUICE_API KernelReport CheckGradient(const OpSchema& schema,
                                      OpSchema::GradientFn gradient,
                                      const KernelCheckOptions& options = {});

}  // namespace sluice::framework
