#include "sluice/laboratory/bisect/slice_trial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/laboratory/tuning/reference.h"
#include "sluice/laboratory/tuning/verify.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// The share of a value that rounding may change, by variable of the slice. The
// relative error grows like the square root of the number of ops.
std::map<std::string, double> RoundingOf(const PlanSlice& slice) {
  std::map<std::string, double> squares;
  const Plan& plan = *slice.plan();
  for (size_t i = 0; i < plan.ops().size(); ++i) {
    const PlannedOp& op = plan.ops()[i];
    const OpFacts facts = FactsOf(plan, static_cast<int>(i));
    double before = 0;
    for (const int slot : op.inputs) {
      before = std::max(before, squares[plan.slots()[slot].var]);
    }
    for (size_t output = 0; output < op.outputs.size(); ++output) {
      const Slot& slot = plan.slots()[op.outputs[output]];
      const double factor = RoundingFactor(facts, output, Registry::Global());
      // Values without rounding must be equal.
      squares[slot.var] = factor == 0 ? 0 : before + factor * factor;
    }
  }
  for (auto& [var, square] : squares) {
    square = 2 * std::sqrt(square);
  }
  return squares;
}

// Ops of plan a as they ran in the golden run.
class GoldenOps {
 public:
  GoldenOps(const PlanPair& pair, const GoldenValues& golden)
      : pair_(pair), golden_(golden) {
    for (size_t unit = 0; unit < pair.units().size(); ++unit) {
      for (const int op : pair.units()[unit].a) {
        unit_of_[op] = unit;
        for (const int slot : pair.a().ops()[op].outputs) {
          writers_[ValueOf(slot).var].push_back(op);
        }
      }
    }
  }

  // Ops of plan a in a unit, and those whose outputs they need and b lacks.
  std::vector<int> OpsToCheck(size_t unit) const {
    std::vector<int> ops = pair_.units()[unit].a;
    std::set<int> seen(ops.begin(), ops.end());
    for (size_t i = 0; i < ops.size(); ++i) {
      for (const int slot : pair_.a().ops()[ops[i]].inputs) {
        if (pair_.IsShared(ValueOf(slot))) continue;
        const auto writers = writers_.find(ValueOf(slot).var);
        if (writers == writers_.end()) continue;
        for (const int writer : writers->second) {
          if (seen.insert(writer).second) ops.push_back(writer);
        }
      }
    }
    return ops;
  }

  // The op with the inputs of the golden run; nothing if an input is unknown.
  std::optional<IsolatedOp> Inputs(int op) const {
    const Plan& plan = pair_.a();
    const size_t unit = unit_of_.at(op);
    std::vector<Tensor> tensors(plan.slots().size());
    for (const int index : plan.ops()[op].inputs) {
      const Slot& slot = plan.slots()[index];
      const ProgramValue& value = ValueOf(index);
      const size_t when = WrittenInUnit(value.var, op) ? unit + 1 : unit;
      const Tensor* input = golden_.Before(when, value.var);
      if (input == nullptr && slot.kind != SlotKind::kShape) {
        return std::nullopt;
      }
      if (input == nullptr) continue;
      tensors[index] = value.channels_last ? ChannelsLast(*input) : *input;
    }
    return Isolate(plan, op, tensors.data());
  }

  std::vector<Tensor> Outputs(int op) const {
    std::vector<Tensor> outputs;
    for (const int slot : pair_.a().ops()[op].outputs) {
      const ProgramValue& value = ValueOf(slot);
      const Tensor& output = *golden_.Before(unit_of_.at(op) + 1, value.var);
      outputs.push_back(value.channels_last ? ChannelsLast(output) : output);
    }
    return outputs;
  }

 private:
  const ProgramValue& ValueOf(int slot) const {
    return pair_.ValueInA(pair_.a().slots()[slot].var);
  }

  // Returns whether an earlier op of the same unit writes the value.
  bool WrittenInUnit(const std::string& value, int op) const {
    const auto writers = writers_.find(value);
    return writers != writers_.end() &&
           std::any_of(
               writers->second.begin(), writers->second.end(), [&](int writer) {
                 return writer < op && unit_of_.at(writer) == unit_of_.at(op);
               });
  }

  const PlanPair& pair_;
  const GoldenValues& golden_;
  std::map<int, size_t> unit_of_;
  std::map<std::string, std::vector<int>> writers_;  // by ProgramValue::var
};

class Watcher : public RunObserver {
 public:
  Watcher(const PlanPair& pair,
          const GoldenValues& golden,
          const PlanSlice& slice,
          const ValueTolerance& tolerance)
      : pair_(pair),
        golden_(golden),
        slice_(slice),
        tolerance_(tolerance),
        rounding_(RoundingOf(slice)) {}

  void Before(const Plan& plan,
              const Instruction& instruction,
              const Tensor* tensors) override {
    if (instruction.kernel == nullptr || trial_.differs) return;
    unit_ = slice_.unit_of_op()[instruction.op_index];
    if (tolerance_.given()) return;
    op_ = Isolate(plan, instruction.context, tensors);
    // Inputs in the arena are copied, since outputs may overwrite them.
    const std::vector<int>& slots = plan.ops()[instruction.context].inputs;
    for (size_t i = 0; i < slots.size(); ++i) {
      Tensor& input = op_.inputs[i];
      if (plan.slots()[slots[i]].kind == SlotKind::kArena) {
        input = input.CopyTo(input.place());
      }
    }
  }

  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override {
    if (instruction.kernel == nullptr || trial_.differs) return;
    const std::vector<int>& outputs = plan.ops()[instruction.context].outputs;
    for (const int slot : outputs) {
      if (!Look(plan.slots()[slot].var, tensors[slot], unit_)) continue;
      trial_.unit = unit_;
      break;
    }
    if (tolerance_.given()) return;
    if (!trial_.differs) {
      Keep(plan, outputs, tensors);
      return;
    }
    std::vector<Tensor> results;
    results.reserve(outputs.size());
    for (const int slot : outputs) {
      results.push_back(tensors[slot]);
    }
    if (!BothKernelsAreCorrect(results)) return;
    // The difference comes from cancellation or from a discontinuous op.
    trial_ = {};
    for (const int slot : outputs) {
      excused_.insert(plan.slots()[slot].var);
    }
    LookAtInputs(plan, instruction);
  }

  void AtEnd(const std::vector<Tensor>& results) {
    for (size_t i = 0; i < results.size() && !trial_.differs; ++i) {
      if (excused_.count(slice_.fetches()[i]) > 0) continue;
      Look(slice_.fetches()[i], results[i], pair_.units().size());
    }
  }

  void AtError(const Error& error) {
    trial_.differs = true;
    trial_.unit = unit_;
    trial_.message = Format("raised \"{}\"", error.what());
  }

  SliceTrial Take() {
    trial_.max_absolute = max_absolute_;
    trial_.max_relative = max_relative_;
    return std::move(trial_);
  }

 private:
  const Tensor* GoldenOf(const std::string& var, size_t unit) const {
    const ProgramValue& value = slice_.ValueOf(var);
    return pair_.IsShared(value) ? golden_.Before(unit + 1, value.var)
                                 : golden_.OfB(value.var);
  }

  // Returns whether the value differs. `unit` is the unit that wrote it.
  bool Look(const std::string& var, const Tensor& tensor, size_t unit) {
    const Tensor* golden = GoldenOf(var, unit);
    if (golden == nullptr) return false;
    ValueTolerance tolerance = tolerance_;
    tolerance.rounding = rounding_.at(var);
    const bool turned = slice_.ValueOf(var).channels_last;
    const ValueDifference difference =
        Difference(*golden, turned ? ChannelsFirst(tensor) : tensor, tolerance);
    max_absolute_ = std::max(max_absolute_, difference.absolute);
    max_relative_ = std::max(max_relative_, difference.relative);
    if (!difference.differs) return false;
    trial_.differs = true;
    trial_.value = slice_.ValueOf(var).var;
    trial_.difference = difference;
    return true;
  }

  // Checks that values that earlier ops wrote were not overwritten.
  void LookAtInputs(const Plan& plan, const Instruction& instruction) {
    const std::vector<int>& slots = plan.ops()[instruction.context].inputs;
    for (size_t i = 0; i < slots.size() && !trial_.differs; ++i) {
      const Slot& slot = plan.slots()[slots[i]];
      const bool written = slot.kind == SlotKind::kArena;
      if (!written || excused_.count(slot.var) > 0) continue;
      if (Look(slot.var, op_.inputs[i], unit_ - 1)) {
        trial_.message = "something overwrote it";
      }
    }
  }

  // Returns "" if the outputs are right, and nothing if that is unknown.
  static std::optional<std::string> VerdictOn(
      const IsolatedOp& op, const std::vector<Tensor>& outputs) {
    try {
      const Reference reference = ComputeReference(op, Registry::Global());
      if (reference.kernel == nullptr) return std::nullopt;
      return CompareWithReference(op, reference, outputs).message;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // The verdict on the first op of A that is wrong or undecided, else "".
  std::optional<std::string> VerdictOnA() const {
    const GoldenOps ops(pair_, golden_);
    for (const int op : ops.OpsToCheck(unit_)) {
      const Decision& decision = pair_.a().decisions()[op];
      if (Registry::Global().Schema(decision.op).random()) continue;
      const auto isolated = ops.Inputs(op);
      if (!isolated) return std::nullopt;
      auto verdict = VerdictOn(*isolated, ops.Outputs(op));
      if (!verdict || !verdict->empty()) return verdict;
    }
    return pair_.units()[unit_].a.empty() ? std::nullopt
                                          : std::optional<std::string>("");
  }

  // Checks the last op, and every op before it whose outputs exist only in plan
  // B and were not compared yet.
  std::optional<std::string> VerdictOnB(const std::vector<Tensor>& results) {
    std::vector<const Made*> chain;
    const Made last = {op_, results};
    chain.push_back(&last);
    for (size_t i = 0; i < chain.size(); ++i) {
      auto verdict = VerdictOn(chain[i]->op, chain[i]->outputs);
      if (!verdict || !verdict->empty()) return verdict;
      for (const auto& [argument, vars] : chain[i]->op.facts.desc.inputs) {
        for (const std::string& var : vars) {
          const auto made = made_.find(var);
          if (made == made_.end()) continue;
          const Made* next = made->second.get();
          const bool seen =
              std::find(chain.begin(), chain.end(), next) != chain.end();
          if (!seen) chain.push_back(next);
        }
      }
    }
    return "";
  }

  // Returns whether B's and A's kernels are correct, each for its own inputs. A
  // wrong kernel is named in the message.
  bool BothKernelsAreCorrect(const std::vector<Tensor>& results) {
    const std::optional<std::string> b = VerdictOnB(results);
    const std::optional<std::string> a = VerdictOnA();
    for (const auto& [name, verdict] : {std::pair("A", &a), {"B", &b}}) {
      if (!*verdict || (*verdict)->empty()) continue;
      trial_.message += trial_.message.empty() ? "" : "; ";
      trial_.message += Format("{} is wrong: {}", name, **verdict);
    }
    return a && a->empty() && b && b->empty();
  }

  // Keeps outputs without a golden value: they may make a later value differ.
  void Keep(const Plan& plan,
            const std::vector<int>& slots,
            const Tensor* tensors) {
    const bool private_value =
        std::any_of(slots.begin(), slots.end(), [&](int slot) {
          return GoldenOf(plan.slots()[slot].var, unit_) == nullptr;
        });
    if (!private_value) return;
    const auto made = std::make_shared<Made>(Made{op_, {}});
    for (const int slot : slots) {
      made->outputs.push_back(tensors[slot].CopyTo(tensors[slot].place()));
      made_[plan.slots()[slot].var] = made;
    }
  }

  struct Made {
    IsolatedOp op;
    std::vector<Tensor> outputs;
  };

  const PlanPair& pair_;
  const GoldenValues& golden_;
  const PlanSlice& slice_;
  const ValueTolerance& tolerance_;
  std::map<std::string, double> rounding_;
  std::set<std::string> excused_;
  size_t unit_ = 0;
  IsolatedOp op_;  // the next op to run, with its inputs
  std::map<std::string, std::shared_ptr<const Made>> made_;  // by variable
  double max_absolute_ = 0;
  double max_relative_ = 0;
  SliceTrial trial_;
};

}  // namespace

SliceTrial TrySlice(const PlanPair& pair,
                    const GoldenValues& golden,
                    PlanSlice& slice,
                    const ValueTolerance& tolerance) {
  Watcher watcher(pair, golden, slice, tolerance);
  try {
    watcher.AtEnd(
        slice.plan()->RunObserved(slice.feeds(), &slice.scope(), watcher));
  } catch (const Error& error) {
    if (error.check_id() == "run.cancelled" || IsCircumstance(error)) throw;
    watcher.AtError(error);
  }
  return watcher.Take();
}

}  // namespace sluice
