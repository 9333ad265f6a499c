#include "sluice/framework/plan/persistables.h"

#include "sluice/framework/values/scope_lock.h"

namespace sluice {

void CopyPersistables(const Plan& plan, const Scope* scope, Scope* copies) {
  if (scope == nullptr) return;
  const ScopeLock lock(scope, ScopeAccess::kRead);
  for (const Slot& slot : plan.slots()) {
    if (slot.kind != SlotKind::kPersistable && slot.kind != SlotKind::kShadow) {
      continue;
    }
    const Variable* variable = scope->FindVar(slot.var);
    const Tensor* tensor =
        variable == nullptr ? nullptr : variable->Get<Tensor>();
    if (tensor != nullptr) {
      *copies->Var(slot.var).GetMutable<Tensor>() = *tensor;
    }
  }
}

}  // namespace sluice
