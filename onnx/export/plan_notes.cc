#include "sluice/onnx/export/plan_notes.h"

#include <algorithm>

#include "sluice/framework/choice/resolver.h"
#include "sluice/framework/costs/machine.h"
#include "sluice/framework/costs/record.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

bool Makes(const OpDesc& op, const std::string& variable) {
  return std::any_of(
      op.outputs.begin(), op.outputs.end(), [&](const auto& output) {
        const auto& [argument, vars] = output;
        return std::find(vars.begin(), vars.end(), variable) != vars.end();
      });
}

void AddTime(const Candidate& candidate, Properties* notes) {
  const Record* record = candidate.record;
  if (record == nullptr || record->rounds == 0) return;
  notes->emplace_back("sluice.measured_microseconds",
                      Format("{:.3f}", record->median * 1e6));
  notes->emplace_back("sluice.measured_date", record->date);
  notes->emplace_back("sluice.checked", ToString(record->verdict));
}

}  // namespace

Properties NotesOfOp(const Plan& plan,
                     const Program& program,
                     const std::string& variable) {
  const auto& ops = program.block().ops;
  const auto covers = [&](const Decision& decision) {
    return std::any_of(
        decision.covers.begin(), decision.covers.end(), [&](int index) {
          return static_cast<size_t>(index) < ops.size() &&
                 Makes(ops[static_cast<size_t>(index)], variable);
        });
  };
  const auto& decisions = plan.decisions();
  const auto found = std::find_if(decisions.begin(), decisions.end(), covers);
  if (found == decisions.end()) return {};
  const Decision& decision = *found;
  Properties notes = {{"sluice.kernel", ToString(*decision.kernel)},
                      {"sluice.reason", decision.reason}};
  std::string together;
  for (const int index : decision.covers) {
    if (static_cast<size_t>(index) >= ops.size()) continue;
    together +=
        (together.empty() ? "" : ", ") + ops[static_cast<size_t>(index)].type;
  }
  if (decision.covers.size() > 1) {
    notes.emplace_back("sluice.computed_together", together);
  }
  for (const Candidate& candidate : decision.candidates()) {
    if (candidate.kernel == decision.kernel) AddTime(candidate, &notes);
  }
  return notes;
}

Properties NotesOfPlan(const Plan& plan) {
  return {{"sluice.machine", MachineId().text},
          {"sluice.place", ToString(plan.place())},
          {"sluice.threads", Format("{}", plan.num_threads())}};
}

}  // namespace sluice::onnx
