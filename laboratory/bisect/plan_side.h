#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/laboratory/bisect/plan_units.h"

namespace sluice {

template <typename Call>
void ForEachVar(const std::vector<std::pair<std::string, ArgVars>>& arguments,
                Call call) {
  for (const auto& [argument, vars] : arguments) {
    for (const std::string& var : vars) {
      call(var);
    }
  }
}

// By input of an op, flattened in schema order: whether it is read for its
// shape only.
std::vector<bool> ReadForShapeOnly(const OpDesc& op);

// One plan of a pair. It maps the plan's variables to values of the program.
// Keeps references to the program and the plan; immutable.
class PlanSide {
 public:
  PlanSide(const Program& program, const Plan& plan);

  int count() const { return static_cast<int>(plan_.ops().size()); }
  const OpDesc& desc(int op) const {
    return plan_.op_descs()[plan_.ops()[op].op_index];
  }
  int id(int op) const { return plan_.ops()[op].op_index; }
  // Whether the outputs depend on the op's position, so that they are taken
  // from plan a.
  bool IsRandom(int op) const;
  // Whether a second run changes nothing and has the same outputs.
  bool IsPure(int op) const;
  const ProgramValue& value(const std::string& var) const {
    return values_.at(var);
  }
  const std::map<std::string, ProgramValue>& values() const { return values_; }
  // The ops that write a value, except those that only change its layout.
  std::vector<int> WritersOf(const std::string& value_var) const;
  // Whether the op only moves an image of the program to another layout.
  bool IsMove(int op) const { return moves_.count(op) > 0; }
  bool InProgram(const std::string& var) const {
    return program_.block().FindVar(var) != nullptr;
  }
  // Dims and dtype as [N, C, H, W].
  std::pair<DDim, DType> TypeOf(int op, const std::string& value_var) const;
  // The values, as ProgramValue::var, whose contents the op reads. Inputs read
  // only for their shape are left out: both plans know the shape.
  std::vector<std::string> ValuesReadBy(int op) const;
  std::vector<std::string> ValuesWrittenBy(int op) const;

 private:
  bool MadeByPass(int op) const;
  void NameImages(int op);
  void NameOthers(int op);
  bool HasOtherLayout(int op, bool converted_input) const;

  const Program& program_;
  const Plan& plan_;
  std::map<std::string, ProgramValue> values_;
  std::map<std::string, std::vector<int>> writers_;  // by ProgramValue::var
  std::set<int> moves_;
};

}  // namespace sluice
