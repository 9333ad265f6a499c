#pragma once

#include <string>

#include "sluice/framework/choice/prepared_op.h"
#include "sluice/platform/export.h"

namespace sluice {

// Reasons for the resolver's choices, as text. Internal to framework/choice.

// Sets why `op->choice()` was chosen before the next one.
SLUICE_API void GiveReason(PreparedOp* op);

// Raises NotFound with the refusals of all candidates, or only those of kernels
// that match `require` hints.
[[noreturn]] SLUICE_API void RaiseNoKernel(const PreparedOp& op);

// Returns why another kernel was chosen than `hint` prefers.
WhyNot WhyNotObeyed(const PreparedOp& op, const KernelHint& hint);

}  // namespace sluice
