#pragma once

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// The persistables of `scope` that a plan has, in `copies`: what a run writes
// there replaces tensors of that scope only; memory is shared until then.
// `scope` may be null.
SLUICE_API void CopyPersistables(const Plan& plan,
                                 const Scope* scope,
                                 Scope* copies);

}  // namespace sluice::framework
