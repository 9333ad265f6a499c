#include "sluice/framework/laboratory/bisect/plan_units.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::Format;

namespace {

const OpDesc& DescOf(const Plan& plan, int op) {
  return plan.op_descs()[plan.ops()[op].op_index];
}

template <typename Call>
void ForEachVar(const std::vector<std::pair<std::string, ArgVars>>& arguments,
                Call call) {
  for (const auto& [argument, vars] : arguments) {
    for (const std::string& var : vars) {
      call(var);
    }
  }
}

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

const std::string* DataFormat(const OpDesc& op) {
  const auto found = op.attributes.find("data_format");
  return found == op.attributes.end()
             ? nullptr
             : std::get_if<std::string>(&found->second);
}

// The order of the axes of an image that an op only moves; empty for others.
// A reshape of one channel or one pixel moves it, too.
bool MovesImage(const OpDesc& op, bool to_channels_last) {
  if (op.type == "reshape") return true;
  const auto axis = op.attributes.find("axis");
  if (op.type != "transpose" || axis == op.attributes.end()) return false;
  using Ints = std::vector<int64_t>;
  const auto* axes = std::get_if<Ints>(&axis->second);
  return axes != nullptr &&
         *axes == (to_channels_last ? Ints{0, 2, 3, 1} : Ints{0, 3, 1, 2});
}

// One plan with the values of the program in the place of its variables.
class Side {
 public:
  Side(const Program& program, const Plan& plan)
      : program_(program), plan_(plan) {
    for (int op = 0; op < count(); ++op) {
      NameImages(op);
    }
    for (int op = 0; op < count(); ++op) {
      NameOthers(op);
    }
    for (int op = 0; op < count(); ++op) {
      ForEachVar(DescOf(plan_, op).outputs, [&](const std::string& var) {
        writers_[value(var).var].push_back(op);
      });
    }
  }

  int count() const { return static_cast<int>(plan_.ops().size()); }
  const OpDesc& desc(int op) const { return DescOf(plan_, op); }
  int id(int op) const { return plan_.ops()[op].op_index; }
  const ProgramValue& value(const std::string& var) const {
    return values_.at(var);
  }
  const std::map<std::string, ProgramValue>& values() const { return values_; }
  // Without those that only change the layout.
  std::vector<int> WritersOf(const std::string& value_var) const {
    const auto found = writers_.find(value_var);
    if (found == writers_.end()) return {};
    std::vector<int> writers = found->second;
    std::erase_if(writers, [&](int op) { return IsMove(op); });
    return writers;
  }
  // Whether the op only moves an image of the program to another layout.
  bool IsMove(int op) const { return moves_.count(op) > 0; }
  bool InProgram(const std::string& var) const {
    return program_.block().FindVar(var) != nullptr;
  }
  // Dims and dtype as [N, C, H, W].
  std::pair<DDim, DType> TypeOf(int op, const std::string& value_var) const {
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

 private:
  bool MadeByPass(int op) const {
    return id(op) >= static_cast<int>(program_.block().ops.size());
  }

  // What a pass made of an image to change its layout, or will make one of.
  void NameImages(int op) {
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
    } else if (InProgram(to) && !InProgram(from) &&
               MovesImage(op_desc, false)) {
      values_[from] = {to, true};
      moves_.insert(op);
    }
  }

  void NameOthers(int op) {
    const OpDesc& op_desc = desc(op);
    bool turned_input = false;
    ForEachVar(op_desc.inputs, [&](const std::string& var) {
      const auto found = values_.try_emplace(var, ProgramValue{var}).first;
      turned_input |= found->second.channels_last;
    });
    const bool turned = Turned(op, turned_input);
    ForEachVar(op_desc.outputs, [&](const std::string& var) {
      const Slot* slot = SlotOf(plan_, op, var);
      const bool image =
          slot != nullptr && slot->dims.rank() == 4 && !IsFilter(op_desc, var);
      values_.try_emplace(var, ProgramValue{var, turned && image});
    });
  }

  static bool IsFilter(const OpDesc& op, const std::string& var) {
    const ArgVars& filters = op.Output("Filter@GRAD");
    return std::find(filters.begin(), filters.end(), var) != filters.end();
  }

  // Whether the op's images have another layout than in the program.
  bool Turned(int op, bool turned_input) const {
    if (IsMove(op)) return false;
    const std::string* format = DataFormat(desc(op));
    if (format == nullptr) return turned_input;
    if (MadeByPass(op)) return *format == "NHWC";
    const std::string* written = DataFormat(program_.block().ops[id(op)]);
    return written == nullptr ? turned_input : *format != *written;
  }

  const Program& program_;
  const Plan& plan_;
  std::map<std::string, ProgramValue> values_;
  std::map<std::string, std::vector<int>> writers_;  // by ProgramValue::var
  std::set<int> moves_;
};

// Sets of nodes, numbered from 0.
class Unions {
 public:
  explicit Unions(int nodes) : parents_(nodes) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }
  int Find(int node) {
    while (parents_[node] != node) {
      node = parents_[node] = parents_[parents_[node]];
    }
    return node;
  }
  void Join(int a, int b) { parents_[Find(b)] = Find(a); }

 private:
  std::vector<int> parents_;
};

}  // namespace

class PlanAligner {
 public:
  PlanAligner(const Program& program, PlanPair* pair)
      : pair_(*pair),
        a_(program, pair->a()),
        b_(program, pair->b()),
        unions_(a_.count() + b_.count()) {}

  void Run() {
    MatchOps();
    FindShared();
    JoinOps();
    while (!Sort()) {
    }
    pair_.values_a_ = a_.values();
    pair_.values_b_ = b_.values();
  }

 private:
  int NodeOfB(int op) const { return a_.count() + op; }

  // What an op computes, apart from layouts.
  static auto Arguments(
      const Side& side,
      const std::vector<std::pair<std::string, ArgVars>>& arguments) {
    auto named = arguments;
    for (auto& [argument, vars] : named) {
      for (std::string& var : vars) {
        var = side.value(var).var;
      }
    }
    return named;
  }

  static AttributeMap WithoutFormat(const OpDesc& op) {
    AttributeMap attributes = op.attributes;
    attributes.erase("data_format");
    return attributes;
  }

  bool DoTheSame(int a, int b) const {
    const OpDesc& left = a_.desc(a);
    const OpDesc& right = b_.desc(b);
    return left.type == right.type &&
           WithoutFormat(left) == WithoutFormat(right) &&
           Arguments(a_, left.inputs) == Arguments(b_, right.inputs) &&
           Arguments(a_, left.outputs) == Arguments(b_, right.outputs);
  }

  void MatchOps() {
    std::map<int, int> b_of_id;
    for (int b = 0; b < b_.count(); ++b) {
      b_of_id[b_.id(b)] = b;
    }
    for (int a = 0; a < a_.count(); ++a) {
      const auto found = b_of_id.find(a_.id(a));
      if (found != b_of_id.end() && DoTheSame(a, found->second)) {
        matched_[a] = found->second;
      }
    }
  }

  // A value that a pass made means the same in both plans only where the same
  // op makes it.
  bool Shared(const std::string& var) const {
    const std::vector<int> a = a_.WritersOf(var);
    const std::vector<int> b = b_.WritersOf(var);
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a_.TypeOf(a[i], var) != b_.TypeOf(b[i], var)) return false;
      const auto match = matched_.find(a[i]);
      const bool same = match != matched_.end() && match->second == b[i];
      if (!same && !a_.InProgram(var)) return false;
    }
    return true;
  }

  // Without those of which an op reads the shape only: that is there in both
  // plans, whatever becomes of the contents.
  template <typename Call>
  static void ForEachValue(const Side& side, int op, Call call) {
    const OpDesc& desc = side.desc(op);
    for (const ArgDef& def : Registry::Global().Schema(desc.type).inputs()) {
      if (def.traits.shape_only) continue;
      for (const std::string& var : desc.Input(def.name)) {
        call(side.value(var).var);
      }
    }
    ForEachVar(desc.outputs,
               [&](const std::string& var) { call(side.value(var).var); });
  }

  void FindShared() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Side* side : {&a_, &b_}) {
        for (const auto& [var, value] : side->values()) {
          pair_.shared_[value.var] = Shared(value.var);
        }
      }
      std::erase_if(matched_, [&](const auto& match) {
        bool all_shared = true;
        ForEachValue(a_, match.first, [&](const std::string& var) {
          all_shared &= pair_.shared_.at(var);
        });
        changed |= !all_shared;
        return !all_shared;
      });
    }
  }

  void JoinOps() {
    for (const auto& [a, b] : matched_) {
      unions_.Join(a, NodeOfB(b));
    }
    JoinPrivate(a_, 0);
    JoinPrivate(b_, a_.count());
    for (const auto& [var, shared] : pair_.shared_) {
      if (!shared) continue;
      const std::vector<int> a = a_.WritersOf(var);
      const std::vector<int> b = b_.WritersOf(var);
      for (size_t i = 0; i < a.size(); ++i) {
        unions_.Join(a[i], NodeOfB(b[i]));
      }
    }
  }

  // Ops of one plan that hand each other what the other plan has not.
  void JoinPrivate(const Side& side, int offset) {
    std::map<std::string, int> first;
    for (int op = 0; op < side.count(); ++op) {
      ForEachValue(side, op, [&](const std::string& var) {
        if (pair_.shared_.at(var)) return;
        const int node = offset + op;
        unions_.Join(first.try_emplace(var, node).first->second, node);
      });
    }
  }

  // What must come before a unit: what it reads has been written, and what it
  // overwrites has been read.
  void AddEdges(const Side& side,
                int offset,
                std::map<int, std::set<int>>* after) {
    std::map<std::string, int> writer;
    std::map<std::string, std::vector<int>> readers;
    const auto add = [&](int before, int node) {
      const int u = unions_.Find(before);
      const int v = unions_.Find(node);
      if (u != v) (*after)[u].insert(v);
    };
    for (int op = 0; op < side.count(); ++op) {
      const int node = offset + op;
      ForEachVar(side.desc(op).inputs, [&](const std::string& var) {
        if (const auto found = writer.find(var); found != writer.end()) {
          add(found->second, node);
        }
        readers[var].push_back(node);
      });
      ForEachVar(side.desc(op).outputs, [&](const std::string& var) {
        if (const auto found = writer.find(var); found != writer.end()) {
          add(found->second, node);
        }
        for (const int reader : readers[var]) {
          add(reader, node);
        }
        readers[var].clear();
        writer[var] = node;
      });
    }
  }

  // Kahn's algorithm, the earliest op of plan a first. False where units wait
  // for each other: those of one such circle are joined then.
  bool Sort() {
    std::map<int, PlanUnit> units;
    for (int a = 0; a < a_.count(); ++a) {
      units[unions_.Find(a)].a.push_back(a);
    }
    for (int b = 0; b < b_.count(); ++b) {
      units[unions_.Find(NodeOfB(b))].b.push_back(b);
    }
    std::map<int, std::set<int>> after;
    AddEdges(a_, 0, &after);
    AddEdges(b_, a_.count(), &after);
    std::map<int, int> missing;
    for (const auto& [unit, later] : after) {
      for (const int each : later) {
        ++missing[each];
      }
    }
    using Entry = std::pair<int, int>;  // position, unit
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    const auto position = [&](int unit) {
      const PlanUnit& ops = units.at(unit);
      return ops.a.empty() ? ops.b.front() : ops.a.front();
    };
    for (const auto& [unit, ops] : units) {
      if (missing[unit] == 0) ready.emplace(position(unit), unit);
    }
    pair_.units_.clear();
    while (!ready.empty()) {
      const int unit = ready.top().second;
      ready.pop();
      pair_.units_.push_back(std::move(units.at(unit)));
      units.erase(unit);
      for (const int each : after[unit]) {
        if (--missing[each] == 0) ready.emplace(position(each), each);
      }
    }
    if (!units.empty()) {
      JoinCircle(units, after);
      return false;
    }
    for (PlanUnit& unit : pair_.units_) {
      unit.same = Same(unit);
    }
    return true;
  }

  // Each of `units` waits for another one of them, so going back ends in a
  // circle.
  void JoinCircle(const std::map<int, PlanUnit>& units,
                  const std::map<int, std::set<int>>& after) {
    std::map<int, int> before;
    for (const auto& [unit, later] : after) {
      if (units.count(unit) == 0) continue;
      for (const int each : later) {
        if (units.count(each) > 0) before[each] = unit;
      }
    }
    std::set<int> seen;
    int unit = units.begin()->first;
    while (seen.insert(unit).second) {
      unit = before.at(unit);
    }
    for (int each = before.at(unit); each != unit; each = before.at(each)) {
      unions_.Join(unit, each);
    }
  }

  bool Same(const PlanUnit& unit) const {
    if (unit.a.size() != 1 || unit.b.size() != 1) return false;
    const OpDesc& a = a_.desc(unit.a[0]);
    const OpDesc& b = b_.desc(unit.b[0]);
    const Decision& left = pair_.a().decisions()[unit.a[0]];
    const Decision& right = pair_.b().decisions()[unit.b[0]];
    return left.kernel == right.kernel && left.place == right.place &&
           a.type == b.type && a.attributes == b.attributes &&
           a.inputs == b.inputs && a.outputs == b.outputs;
  }

  PlanPair& pair_;
  Side a_;
  Side b_;
  Unions unions_;
  std::map<int, int> matched_;  // ops of a, ops of b
};

PlanPair::PlanPair(const Program& program, const Plan& a, const Plan& b)
    : a_(&a), b_(&b) {
  PlanAligner(program, this).Run();
}

const ProgramValue& PlanPair::ValueInA(const std::string& var) const {
  return values_a_.at(var);
}

const ProgramValue& PlanPair::ValueInB(const std::string& var) const {
  return values_b_.at(var);
}

bool PlanPair::IsShared(const ProgramValue& value) const {
  return shared_.at(value.var);
}

std::string KernelsText(const Plan& plan, const std::vector<int>& ops) {
  std::string text;
  for (const int op : ops) {
    const Decision& decision = plan.decisions()[op];
    text += text.empty() ? "" : ", ";
    if (ops.size() > 1) text += decision.op + " ";
    text += Format("{} {} at {}", decision.kernel->key.library,
                   decision.kernel->variant, decision.place);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace sluice::framework
