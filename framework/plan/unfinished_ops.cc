#include "sluice/framework/plan/unfinished_ops.h"

#include <algorithm>

namespace sluice {
namespace {

// For each queue, the number of instructions of the plan that must be done.
using Progress = std::vector<size_t>;

void Advance(Progress* progress, const Progress& by) {
  for (size_t i = 0; i < by.size(); ++i) {
    (*progress)[i] = std::max((*progress)[i], by[i]);
  }
}

}  // namespace

std::vector<int> UnfinishedOps(const Plan& plan,
                               const Instruction& instruction) {
  const auto& queues = plan.queues();
  const Instruction* const first = plan.instructions().data();
  const auto count = static_cast<size_t>(&instruction - first);
  const Progress none(queues.size(), 0);
  Progress done = none;                             // the host's knowledge
  std::vector<Progress> seen(queues.size(), none);  // what each queue waits for
  for (size_t i = 0; i < count; ++i) {
    const Instruction& step = first[i];
    if (step.device < 0) continue;
    seen[step.device][step.device] = i + 1;
    if (step.kind == InstructionKind::kQueueWait) {
      Advance(&seen[step.device], seen[step.from]);
    } else if (step.kind == InstructionKind::kWait) {
      Advance(&done, seen[step.device]);
    }
  }
  std::vector<int> ops;
  for (size_t i = 0; i <= count; ++i) {
    const Instruction& step = first[i];
    if (step.kind == InstructionKind::kDeviceCompute &&
        queues[step.device].place == queues[instruction.device].place &&
        i >= done[step.device]) {
      ops.push_back(step.op_index);
    }
  }
  return ops;
}

}  // namespace sluice
