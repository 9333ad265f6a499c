// The new values of persistables that a plan writes.
#include <algorithm>

#include "sluice/framework/plan/plan_builder.h"

namespace sluice {

// Returns the persistable of which an op on the host changes few rows, for its
// output; -1 if there is none.
int PlanBuilder::ChangedInPlace(const ArgDef& def,
                                const PlannedOp& planned) const {
  const OpDesc& op = graph_->op(planned.op_index).desc;
  if (def.few_rows.empty() || op.Input(def.few_rows).empty() ||
      planned.device >= 0) {
    return -1;
  }
  // The output may also be the new value of another variable.
  const ArgVars& vars = op.Input(def.updates);
  if (vars != op.Output(def.name)) return -1;
  const std::string& var = vars[0];
  for (const int index : planned.inputs) {
    const Slot& input = plan_->slots_[index];
    if (input.kind == SlotKind::kPersistable && input.var == var) return index;
  }
  return -1;
}

// Whether something may read a persistable's slot while or after op `op_index`
// runs: a later op, a copy, a block, which reads the scope itself, or an op of
// a queue that the host need not have waited for.
bool PlanBuilder::IsReadAfter(int slot, int op_index) const {
  bool after = false;
  for (const PlannedOp& op : plan_->ops_) {
    const bool reads =
        std::find(op.inputs.begin(), op.inputs.end(), slot) != op.inputs.end();
    if (reads && (after || op.device >= 0)) return true;
    for (const auto& [index, blocks] : plan_->blocks_) {
      if (after && index == op.op_index) return true;
    }
    after = after || op.op_index == op_index;
  }
  return std::any_of(plan_->instructions_.begin(), plan_->instructions_.end(),
                     [&](const Instruction& step) {
                       return step.context < 0 &&
                              step.kind != InstructionKind::kQueueWait &&
                              step.from == slot;
                     });
}

void PlanBuilder::AddShadows() {
  for (const int id : graph_->order()) {
    for (const auto& [argument, vars] : graph_->op(id).desc.outputs) {
      for (const std::string& var : vars) {
        if (graph_->IsPersistable(var) && graph_->LastWriter(var) == id) {
          const int index = values_[var].slots.front();
          plan_->shadow_slots_.push_back(index);
          Slot& slot = plan_->slots_[index];
          if (slot.updates >= 0 && IsReadAfter(slot.updates, id)) {
            slot.updates = -1;
          }
        }
      }
    }
  }
}

}  // namespace sluice
