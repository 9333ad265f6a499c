#include "sluice/framework/program/value_table.h"

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"

namespace sluice {

ValueTable::ValueTable(const BlockDesc& block) : ops_(block.ops.size()) {
  for (const VarDesc& var : block.vars()) {
    Add(&var, -1);
  }
  for (size_t i = 0; i < block.ops.size(); ++i) {
    const OpDesc& op = block.ops[i];
    const OpSchema& schema = Registry::Global().Schema(op.type);
    for (const auto& [argument, vars] : op.inputs) {
      if (schema.FindInput(argument)->traits.shape_only) continue;
      for (const std::string& var : vars) {
        ops_[i].inputs.push_back(Latest(var));
      }
    }
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        ops_[i].outputs.push_back(size());
        Add(block.FindVar(var), static_cast<int>(i));
      }
    }
  }
}

void ValueTable::Add(const VarDesc* var, int writer) {
  by_variable_[var->name].push_back(size());
  values_.push_back({var, writer});
}

int ValueTable::Before(int index, std::string_view variable) const {
  const auto found = by_variable_.find(variable);
  if (found == by_variable_.end()) return -1;
  const std::vector<int>& numbers = found->second;
  size_t last = numbers.size() - 1;
  while (last > 0 && values_[numbers[last]].writer >= index) {
    --last;
  }
  return numbers[last];
}

int ValueTable::Latest(std::string_view variable) const {
  const auto found = by_variable_.find(variable);
  return found == by_variable_.end() ? -1 : found->second.back();
}

}  // namespace sluice
