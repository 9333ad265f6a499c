#include "sluice/framework/plan/size_rules.h"

#include <algorithm>

#include "sluice/framework/choice/prepared_op.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/plan/graph.h"

namespace sluice {

SizeRules::SizeRules(const Graph& graph, const std::vector<FeedSpec>& given) {
  std::unordered_map<std::string, int> writes;
  for (const FeedSpec& feed : given) {
    feeds.push_back(Define(feed.name, feed.dims));
    ++writes[feed.name];
  }
  for (const int id : graph.written_order()) {
    AddStep(graph.op(id));
    const auto operands = graph.sized_operands().find(id);
    if (operands != graph.sized_operands().end()) {
      steps.back().operands = operands->second;
    }
  }
  // A variable that is written twice has two shapes.
  for (const Step& step : steps) {
    for (const std::string& name : FlatOutputs(*step.schema, step.desc)) {
      if (++writes[name] > 1) values[name] = -1;
    }
  }
  if (!graph.sized_operands().empty()) FindGivers();
}

void SizeRules::AddStep(const PreparedOp& op) {
  Step& step = steps.emplace_back();
  step.id = op.id;
  step.schema = op.schema;
  step.desc = op.desc;
  step.dtype = op.dtype;
  step.input_dtypes = op.input_dtypes;
  step.output_dtypes = op.output_dtypes;
  std::vector<std::string> names = FlatInputs(*op.schema, op.desc);
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = values.find(names[i]);
    step.inputs.push_back(found == values.end() ? Define(names[i], op.inputs[i])
                                                : found->second);
  }
  names = FlatOutputs(*op.schema, op.desc);
  for (size_t i = 0; i < names.size(); ++i) {
    step.outputs.push_back(Define(names[i], op.outputs[i]));
  }
}

// Finds the ops whose values set attributes.
void SizeRules::FindGivers() {
  std::unordered_map<std::string, bool> wanted;
  for (size_t i = steps.size(); i-- > 0;) {
    Step& step = steps[i];
    for (const std::string& name : FlatOutputs(*step.schema, step.desc)) {
      step.gives_operand |= wanted.count(name) > 0;
    }
    for (const KnownOperand& operand : step.operands) {
      wanted[operand.var] = true;
    }
    if (!step.gives_operand) continue;
    for (const std::string& name : FlatInputs(*step.schema, step.desc)) {
      wanted[name] = true;
    }
  }
}

int SizeRules::Define(const std::string& var, const DDim& of_dims) {
  dims.push_back(of_dims);
  return values[var] = static_cast<int>(dims.size()) - 1;
}

namespace {

// Whether an op of a plan is one of the program, unchanged.
bool IsOf(const OpDesc& written, const OpDesc& planned) {
  return planned.attributes == written.attributes &&
         planned.inputs == written.inputs && planned.outputs == written.outputs;
}

}  // namespace

// Whether new values of the op's operands reach the plan: it has the op as the
// program does, or does not run it.
bool SizeRules::MayBeSet(const Plan& plan, const Step& step) const {
  if (step.operands.empty() && !step.gives_operand) return true;
  // Values that set attributes are found by the names of variables.
  for (const std::string& name : FlatOutputs(*step.schema, step.desc)) {
    if (step.gives_operand && values.at(name) < 0) return false;
  }
  const auto& idle = plan.idle_ops();
  if (step.operands.empty() ||
      std::find(idle.begin(), idle.end(), step.id) != idle.end()) {
    return true;
  }
  const bool unchanged = IsOf(step.desc, plan.op_descs()[step.id]);
  return std::any_of(plan.decisions().begin(), plan.decisions().end(),
                     [&](const Decision& decision) {
                       return decision.op_index == step.id &&
                              decision.pass.empty() && unchanged;
                     });
}

bool SizeRules::Follow(const Plan& plan) {
  for (const Slot& slot : plan.slots()) {
    if (slot.alias_offset > 0) return false;
    const auto found = values.find(slot.var);
    const int value =
        slot.var.empty() || found == values.end() ? -1 : found->second;
    if (slot.kind == SlotKind::kShape &&
        (value < 0 || dims[value] != slot.dims)) {
      return false;
    }
    of_slot.push_back(value);
  }
  std::unordered_map<int, const Step*> by_id;
  for (const Step& step : steps) {
    if (!MayBeSet(plan, step)) return false;
    by_id[step.id] = &step;
  }
  const auto is_written = [&](int slot) {
    const int value = of_slot[slot];
    return value >= 0 && plan.slots()[slot].dims == dims[value];
  };
  for (size_t i = 0; i < plan.ops().size(); ++i) {
    const PlannedOp& op = plan.ops()[i];
    const auto step = by_id.find(op.op_index);
    as_written.push_back(
        step != by_id.end() && plan.decisions()[i].pass.empty() &&
        IsOf(step->second->desc, plan.op_descs()[op.op_index]) &&
        std::all_of(op.inputs.begin(), op.inputs.end(), is_written) &&
        std::all_of(op.outputs.begin(), op.outputs.end(), is_written));
  }
  return true;
}

}  // namespace sluice
