#include "sluice/laboratory/bisect/plan_units.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

#include "sluice/laboratory/bisect/plan_side.h"

namespace sluice {

namespace {

// Disjoint sets of nodes (union-find), numbered from 0.
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
    FindRecomputable();
    JoinOps();
    while (!Sort()) {
    }
    FindRecomputed();
    pair_.values_a_ = a_.values();
    pair_.values_b_ = b_.values();
  }

 private:
  int NodeOfB(int op) const { return a_.count() + op; }

  // A description of the op's computation that ignores layouts.
  static auto Arguments(
      const PlanSide& side,
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

  // A value that a pass made means the same in both plans only if the same op
  // writes it.
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

  bool AllShared(const std::vector<std::string>& values) const {
    return std::all_of(values.begin(), values.end(),
                       [&](const auto& var) { return pair_.shared_.at(var); });
  }

  void FindShared() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const PlanSide* side : {&a_, &b_}) {
        for (const auto& [var, value] : side->values()) {
          pair_.shared_[value.var] = Shared(value.var);
        }
      }
      std::erase_if(matched_, [&](const auto& match) {
        const bool all_shared = AllShared(a_.ValuesReadBy(match.first)) &&
                                AllShared(a_.ValuesWrittenBy(match.first));
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

  // A value that only one plan computes joins the op that writes it with the
  // first op that reads it. Later readers may be in other units: plan a's run
  // has the value, and plan b's can be computed from values of the run.
  void JoinPrivate(const PlanSide& side, int offset) {
    std::map<std::string, std::vector<int>> readers;
    std::map<std::string, std::vector<int>> moves;
    for (int op = 0; op < side.count(); ++op) {
      if (side.IsRandom(op)) continue;  // taken from plan a
      for (const std::string& var : side.ValuesReadBy(op)) {
        if (pair_.shared_.at(var)) continue;
        (side.IsMove(op) ? moves : readers)[var].push_back(op);
      }
    }
    const bool in_b = &side == &b_;
    for (const auto& [var, shared] : pair_.shared_) {
      if (shared) continue;
      std::vector<int> together = side.WritersOf(var);
      const bool free = together.size() == 1 &&
                        (!in_b || recomputable_.count(together[0]) > 0);
      const std::vector<int>& all = readers[var];
      if (!free) {
        together.insert(together.end(), all.begin(), all.end());
      } else if (!all.empty() && OnlyPrivate(side, together[0])) {
        together.push_back(all[0]);
      }
      together.insert(together.end(), moves[var].begin(), moves[var].end());
      for (const int op : together) {
        unions_.Join(offset + together[0], offset + op);
      }
    }
  }

  // Returns whether only other ops of its own plan need the op.
  bool OnlyPrivate(const PlanSide& side, int op) const {
    const std::vector<std::string> written = side.ValuesWrittenBy(op);
    return std::none_of(written.begin(), written.end(),
                        [&](const auto& var) { return pair_.shared_.at(var); });
  }

  // Finds the ops of plan b whose outputs can be recomputed at any time from
  // values that both plans have.
  void FindRecomputable() {
    for (int op = 0; op < b_.count(); ++op) {
      if (b_.IsMove(op) || !b_.IsPure(op)) continue;
      const std::vector<std::string> read = b_.ValuesReadBy(op);
      const bool available =
          std::all_of(read.begin(), read.end(), [&](const auto& var) {
            if (pair_.shared_.at(var)) return true;
            const std::vector<int> writers = b_.WritersOf(var);
            return writers.size() == 1 && recomputable_.count(writers[0]) > 0;
          });
      if (available) recomputable_.insert(op);
    }
  }

  // Keeps the recomputable ops whose outputs other units need.
  void FindRecomputed() {
    std::map<int, size_t> unit_of;
    for (size_t unit = 0; unit < pair_.units_.size(); ++unit) {
      for (const int op : pair_.units_[unit].b) {
        unit_of[op] = unit;
      }
    }
    std::set<int> needed;
    for (int op = b_.count() - 1; op >= 0; --op) {
      if (b_.IsRandom(op)) continue;
      for (const std::string& var : b_.ValuesReadBy(op)) {
        if (pair_.shared_.at(var)) continue;
        for (const int writer : b_.WritersOf(var)) {
          if (recomputable_.count(writer) == 0) continue;
          if (unit_of[writer] != unit_of[op] || needed.count(op) > 0) {
            needed.insert(writer);
          }
        }
      }
    }
    pair_.recomputed_.assign(needed.begin(), needed.end());
  }

  // Adds what must run before a unit: the writers of what it reads, and the
  // readers of what it overwrites.
  void AddEdges(const PlanSide& side,
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

  // Kahn's algorithm, the earliest op of plan a first. If units wait for each
  // other, joins the units of one cycle and returns false.
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

  // Each of `units` waits for another one of them, so walking back finds a
  // cycle.
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
  PlanSide a_;
  PlanSide b_;
  Unions unions_;
  std::map<int, int> matched_;  // ops of a, ops of b
  std::set<int> recomputable_;  // ops of b
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

}  // namespace sluice
