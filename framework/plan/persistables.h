#pragma once

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/export.h"

namespace sluice {

// Makes the persistables of a plan in `copies` share the tensors of `scope`. A
// run that writes them replaces the tensors of `copies` only. `scope` may be
// null.
SLUICE_API void CopyPersistables(const Plan& plan,
                                 const Scope* scope,
                                 Scope* copies);

}  // namespace sluice
