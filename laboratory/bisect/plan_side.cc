#include "sluice/laboratory/bisect/plan_side.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"

namespace sluice {

namespace {

// The slot of a variable that an op reads or writes; nullptr for others.
const Slot* SlotOf(const Plan& plan, int op, const std::string& var) {
  const PlannedOp& planned = plan.ops()[op];
  for (const auto* slots : {&planned.outputs, &planned.inputs}) {
    for (const int slot : *slots) {
      if (plan.slots()[slot].var == var) return &plan.slots()[slot];
    }
  }
  return nullptr;
}

// Returns whether the op only permutes the axes of an image. An alias in
// another shape does so for an image of one channel or one pixel.
bool MovesImage(const OpDesc& op, bool to_channels_last) {
  const OpSchema& schema = Registry::Global().Schema(op.type);
  if (!schema.outputs().front().aliases.empty()) return true;
  const auto axis = op.attributes.find(schema.permutes());
  if (axis == op.attributes.end()) return false;
  using Ints = std::vector<int64_t>;
  const auto* axes = std::get_if<Ints>(&axis->second);
  return axes != nullptr &&
         *axes == (to_channels_last ? Ints{0, 2, 3, 1} : Ints{0, 3, 1, 2});
}

}  // namespace

std::vector<bool> ReadForShapeOnly(const OpDesc& op) {
  std::vector<bool> shape_only;
  for (const ArgDef& def : Registry::Global().Schema(op.type).inputs()) {
    shape_only.insert(shape_only.end(), op.Input(def.name).size(),
                      def.traits.shape_only);
  }
  return shape_only;
}

PlanSide::PlanSide(const Program& program, const Plan& plan)
    : program_(program), plan_(plan) {
  for (int op = 0; op < count(); ++op) {
    NameImages(op);
  }
  for (int op = 0; op < count(); ++op) {
    NameOthers(op);
  }
  for (int op = 0; op < count(); ++op) {
    for (const std::string& written : ValuesWrittenBy(op)) {
      writers_[written].push_back(op);
    }
  }
}

bool PlanSide::IsRandom(int op) const {
  return Registry::Global().Schema(desc(op).type).random();
}

bool PlanSide::IsPure(int op) const {
  bool pure = !IsRandom(op);
  ForEachVar(desc(op).outputs, [&](const std::string& var) {
    const VarDesc* described = program_.block().FindVar(var);
    const bool keeps = described != nullptr && described->persistable;
    ForEachVar(desc(op).inputs,
               [&](const std::string& read) { pure &= read != var; });
    pure &= !keeps && WritersOf(value(var).var).size() == 1;
  });
  return pure;
}

std::vector<int> PlanSide::WritersOf(const std::string& value_var) const {
  const auto found = writers_.find(value_var);
  if (found == writers_.end()) return {};
  std::vector<int> writers = found->second;
  std::erase_if(writers, [&](int op) { return IsMove(op); });
  return writers;
}

std::pair<DDim, DType> PlanSide::TypeOf(int op,
                                        const std::string& value_var) const {
  for (const auto* arguments : {&desc(op).outputs, &desc(op).inputs}) {
    for (const auto& [argument, vars] : *arguments) {
      for (const std::string& var : vars) {
        if (value(var).var != value_var) continue;
        const Slot* slot = SlotOf(plan_, op, var);
        if (slot == nullptr) continue;
        DDim dims = slot->dims;
        if (value(var).channels_last) {
          dims = {dims[0], dims[3], dims[1], dims[2]};
        }
        return {dims, slot->dtype};
      }
    }
  }
  return {DDim(), DType::kFloat32};
}

std::vector<std::string> PlanSide::ValuesReadBy(int op) const {
  std::vector<std::string> read;
  const OpDesc& op_desc = desc(op);
  for (const ArgDef& def : Registry::Global().Schema(op_desc.type).inputs()) {
    if (def.traits.shape_only) continue;
    for (const std::string& var : op_desc.Input(def.name)) {
      read.push_back(value(var).var);
    }
  }
  return read;
}

std::vector<std::string> PlanSide::ValuesWrittenBy(int op) const {
  std::vector<std::string> written;
  ForEachVar(desc(op).outputs, [&](const std::string& var) {
    written.push_back(value(var).var);
  });
  return written;
}

bool PlanSide::MadeByPass(int op) const {
  return id(op) >= static_cast<int>(program_.block().ops.size());
}

// Names an image before or after a pass converted its layout.
void PlanSide::NameImages(int op) {
  const OpDesc& op_desc = desc(op);
  if (!MadeByPass(op) || op_desc.inputs.size() != 1 ||
      op_desc.outputs.size() != 1) {
    return;
  }
  const std::string& from = op_desc.inputs[0].second[0];
  const std::string& to = op_desc.outputs[0].second[0];
  for (const std::string* var : {&from, &to}) {
    const Slot* slot = SlotOf(plan_, op, *var);
    if (slot == nullptr || slot->dims.rank() != 4) return;
  }
  if (InProgram(from) && !InProgram(to) && MovesImage(op_desc, true)) {
    values_[to] = {from, true};
    moves_.insert(op);
  } else if (InProgram(to) && !InProgram(from) && MovesImage(op_desc, false)) {
    values_[from] = {to, true};
    moves_.insert(op);
  }
}

void PlanSide::NameOthers(int op) {
  const OpDesc& op_desc = desc(op);
  bool converted_input = false;
  ForEachVar(op_desc.inputs, [&](const std::string& var) {
    const auto found = values_.try_emplace(var, ProgramValue{var}).first;
    converted_input |= found->second.channels_last;
  });
  const bool converted = HasOtherLayout(op, converted_input);
  const OpSchema& schema = Registry::Global().Schema(op_desc.type);
  for (const auto& [argument, vars] : op_desc.outputs) {
    for (const std::string& var : vars) {
      const Slot* slot = SlotOf(plan_, op, var);
      const bool image =
          slot != nullptr && schema.IsImage(argument, slot->dims);
      values_.try_emplace(var, ProgramValue{var, converted && image});
    }
  }
}

// Returns whether the op's images have another layout than in the program.
bool PlanSide::HasOtherLayout(int op, bool converted_input) const {
  if (IsMove(op)) return false;
  const Layout layout = LayoutOf(desc(op));
  if (layout == Layout::kAny) return converted_input;
  if (MadeByPass(op)) return layout == Layout::kNHWC;
  const Layout written = LayoutOf(program_.block().ops[id(op)]);
  return written == Layout::kAny ? converted_input : layout != written;
}

}  // namespace sluice
