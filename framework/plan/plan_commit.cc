#include "sluice/framework/plan/plan_commit.h"

#include <algorithm>
#include <limits>

#include "sluice/framework/op/commit_kernel.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/plan/plan.h"

namespace sluice {

namespace {

bool CannotFail(const Instruction& step) {
  if (step.kind != InstructionKind::kCompute) return false;
  const auto* kernel = dynamic_cast<const CommitKernel*>(step.kernel);
  return kernel != nullptr && kernel->CannotFail();
}

// Returns for each slot the last op that may read it, by its position: as an
// input, or inside of its blocks, which read the scope itself. Copies and ops
// of a queue may do so at any time.
std::vector<size_t> LastReads(const Plan& plan) {
  constexpr size_t kAtAnyTime = std::numeric_limits<size_t>::max();
  std::vector<size_t> last(plan.slots().size(), 0);
  size_t last_block = 0;
  for (size_t i = 0; i < plan.ops().size(); ++i) {
    const PlannedOp& op = plan.ops()[i];
    for (const int slot : op.inputs) {
      last[slot] = std::max(last[slot], op.device < 0 ? i : kAtAnyTime);
    }
    for (const auto& [index, blocks] : plan.blocks()) {
      if (index == op.op_index) last_block = i;
    }
  }
  for (const Instruction& step : plan.instructions()) {
    const bool copies = step.context < 0 && step.from >= 0 &&
                        step.kind != InstructionKind::kQueueWait;
    if (copies) last[step.from] = kAtAnyTime;
  }
  for (size_t& position : last) {
    position = std::max(position, last_block);
  }
  return last;
}

// Returns the slot of the value that an op's output `shadow` replaces; -1 if
// that is another variable's, or the op has it twice: it may read one after it
// has written to the other.
int ReplacedSlot(const Plan& plan,
                 const PlannedOp& op,
                 const ArgDef& def,
                 int shadow) {
  const std::string& var = plan.slots()[shadow].var;
  const OpDesc& desc = plan.op_descs()[op.op_index];
  if (def.updates.empty() || desc.Input(def.updates) != ArgVars{var}) return -1;
  for (const int input : op.inputs) {
    const Slot& slot = plan.slots()[input];
    if (slot.kind == SlotKind::kPersistable && slot.var == var &&
        std::count(op.inputs.begin(), op.inputs.end(), input) == 1) {
      return input;
    }
  }
  return -1;
}

}  // namespace

PlanCommit::PlanCommit(const Plan& plan)
    : begin(plan.instructions().size()), replaced(plan.slots().size(), -1) {
  if (!plan.hooks().empty() || !plan.updates()) return;
  const auto& all = plan.instructions();
  size_t first = begin;
  while (first > 0 && all[first - 1].kind == InstructionKind::kCopyOnHost) {
    --first;
  }
  while (first > 0 && CannotFail(all[first - 1])) {
    --first;
  }
  FindReplaced(plan, first);
  OrderSteps(plan);
}

void PlanCommit::FindReplaced(const Plan& plan, size_t first) {
  const std::vector<size_t> last_reads = LastReads(plan);
  for (size_t i = first; i < plan.instructions().size(); ++i) {
    const Instruction& step = plan.instructions()[i];
    if (step.kernel == nullptr) continue;
    const auto position = static_cast<size_t>(step.context);
    const PlannedOp& op = plan.ops()[position];
    const OpDesc& desc = plan.op_descs()[op.op_index];
    size_t flat = 0;
    for (const ArgDef& def : Registry::Global().Schema(desc.type).outputs()) {
      for (size_t k = 0; k < desc.Output(def.name).size(); ++k) {
        const int shadow = op.outputs[flat++];
        if (plan.slots()[shadow].kind != SlotKind::kShadow) continue;
        const int slot = ReplacedSlot(plan, op, def, shadow);
        if (slot < 0 || last_reads[slot] > position) continue;
        replaced[shadow] = slot;
        begin = first;
      }
    }
  }
}

// Whether no update reads what another one writes. All write shadows, or former
// values that only they read, so that planned memory is reused nowhere.
bool PlanCommit::AreIndependent(const Plan& plan) const {
  std::vector<int> reads(plan.slots().size(), 0);
  const auto for_each_op = [&](auto&& visit) {
    for (size_t i = begin; i < plan.instructions().size(); ++i) {
      const Instruction& step = plan.instructions()[i];
      if (step.kernel != nullptr) visit(plan.ops()[step.context]);
    }
  };
  for_each_op([&](const PlannedOp& op) {
    for (const int slot : op.inputs) {
      ++reads[slot];
    }
  });
  bool independent = true;
  for_each_op([&](const PlannedOp& op) {
    independent = independent && op.scratch < 0;
    for (const int slot : op.outputs) {
      independent = independent && reads[slot] == 0 &&
                    plan.slots()[slot].kind == SlotKind::kShadow &&
                    (replaced[slot] < 0 || reads[replaced[slot]] == 1);
    }
  });
  return independent;
}

// To wake threads pays for this many bytes of updates, each of few bytes.
void PlanCommit::OrderSteps(const Plan& plan) {
  constexpr size_t kManyBytes = 1 << 20;
  constexpr size_t kFewBytes = 1 << 18;
  const bool independent = AreIndependent(plan);
  size_t bytes = 0;
  const auto is_small = [&](const Instruction* step) {
    if (!independent || step->kernel == nullptr) return false;
    size_t written = 0;
    for (const int slot : plan.ops()[step->context].outputs) {
      written += plan.slots()[slot].bytes;
    }
    if (written <= kFewBytes) bytes += written;
    return written <= kFewBytes;
  };
  for (size_t i = begin; i < plan.instructions().size(); ++i) {
    steps.push_back(&plan.instructions()[i]);
  }
  const auto rest = std::stable_partition(steps.begin(), steps.end(), is_small);
  if (bytes < kManyBytes) return;
  together = static_cast<size_t>(rest - steps.begin());
}

}  // namespace sluice
