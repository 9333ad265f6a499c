#include "sluice/framework/plan/persistables.h"

namespace sluice::framework {

void CopyPersistables(const Plan& plan, const Scope* scope, Scope* copies) {
  if (scope == nullptr) return;
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

}  // namespace sluice::framework
