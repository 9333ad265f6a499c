#include "sluice/framework/laboratory/slice_trial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "sluice/framework/laboratory/kernel_run.h"
#include "sluice/framework/laboratory/reference.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::Format;

namespace {

// How much of a value rounding may change, by variable of the slice: the
// relative error grows like the square root of the number of ops.
std::map<std::string, double> RoundingOf(const PlanSlice& slice) {
  std::map<std::string, double> squares;
  const Plan& plan = *slice.plan();
  for (const PlannedOp& op : plan.ops()) {
    std::vector<DDim> inputs;
    double before = 0;
    for (const int slot : op.inputs) {
      inputs.push_back(plan.slots()[slot].dims);
      before = std::max(before, squares[plan.slots()[slot].var]);
    }
    for (const int index : op.outputs) {
      const Slot& slot = plan.slots()[index];
      const double factor = RoundingFactor(inputs, slot.dims, slot.dtype);
      // Numbers without rounding are compared as they are.
      squares[slot.var] = factor == 0 ? 0 : before + factor * factor;
    }
  }
  for (auto& [var, square] : squares) {
    square = 2 * std::sqrt(square);
  }
  return squares;
}

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
    if (instruction.kernel == nullptr) return;
    unit_ = UnitOf(instruction);
    if (plan.ops().size() == 1) op_ = Isolate(plan, 0, tensors);
  }

  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override {
    if (instruction.kernel == nullptr || trial_.differs) return;
    for (const int slot : plan.ops()[instruction.context].outputs) {
      if (Look(plan.slots()[slot].var, tensors[slot], unit_)) {
        trial_.unit = unit_;
        return;
      }
    }
  }

  void AtEnd(const std::vector<Tensor>& results) {
    for (size_t i = 0; i < results.size() && !trial_.differs; ++i) {
      Look(slice_.fetches()[i], results[i], pair_.units().size());
    }
    // Of an op by itself there is a reference.
    if (trial_.differs && op_ && !tolerance_.given()) AskReference(results);
  }

  void AtError(const platform::Error& error) {
    trial_.differs = true;
    trial_.unit = unit_;
    trial_.message = Format("raised \"{}\"", error.what());
  }

  SliceTrial Take() { return std::move(trial_); }

 private:
  size_t UnitOf(const Instruction& instruction) const {
    return slice_.unit_of_op()[instruction.op_index];
  }

  const Tensor* GoldenOf(const std::string& var, size_t unit) const {
    const ProgramValue& value = slice_.ValueOf(var);
    return pair_.IsShared(value) ? golden_.Before(unit + 1, value.var)
                                 : nullptr;
  }

  // Whether it differs. `unit`: what wrote it.
  bool Look(const std::string& var, const Tensor& tensor, size_t unit) {
    const Tensor* golden = GoldenOf(var, unit);
    if (golden == nullptr) return false;
    ValueTolerance tolerance = tolerance_;
    tolerance.rounding = rounding_.at(var);
    const bool turned = slice_.ValueOf(var).channels_last;
    const ValueDifference difference =
        Difference(*golden, turned ? ChannelsFirst(tensor) : tensor, tolerance);
    if (!difference.differs) return false;
    trial_.differs = true;
    trial_.value = slice_.ValueOf(var).var;
    trial_.difference = difference;
    return true;
  }

  // Ill-conditioned sums may differ by more than sizes tell: what is as close
  // to the reference as the plain kernel is right.
  void AskReference(const std::vector<Tensor>& results) {
    std::vector<Tensor> a;
    for (const std::string& var : slice_.fetches()) {
      const Tensor* golden = GoldenOf(var, unit_);
      if (golden == nullptr) return;
      const bool turned = slice_.ValueOf(var).channels_last;
      a.push_back(turned ? ChannelsLast(*golden) : *golden);
    }
    if (a.size() != op_->facts.outputs.size()) return;
    Reference reference;
    try {
      reference = ComputeReference(*op_, Registry::Global());
    } catch (const platform::Error&) {
      return;  // no verdict, then
    }
    if (reference.kernel == nullptr) return;
    const Deviation of_a =
        CompareWithReference(*op_, reference, InOrder(std::move(a)));
    const Deviation of_b =
        CompareWithReference(*op_, reference, InOrder(results));
    if (of_a.message.empty() && of_b.message.empty()) {
      trial_ = {};
      return;
    }
    for (const auto& [name, deviation] :
         {std::pair("A", &of_a), std::pair("B", &of_b)}) {
      if (deviation->message.empty()) continue;
      trial_.message += trial_.message.empty() ? "" : "; ";
      trial_.message += Format("{} is wrong: {}", name, deviation->message);
    }
  }

  // Fetches are sorted by name, outputs in the order of the schema.
  std::vector<Tensor> InOrder(std::vector<Tensor> by_fetch) const {
    std::vector<Tensor> outputs;
    for (const int slot : slice_.plan()->ops()[0].outputs) {
      const std::string& var = slice_.plan()->slots()[slot].var;
      const auto& fetches = slice_.fetches();
      const auto at = std::find(fetches.begin(), fetches.end(), var);
      outputs.push_back(std::move(by_fetch[at - fetches.begin()]));
    }
    return outputs;
  }

  const PlanPair& pair_;
  const GoldenValues& golden_;
  const PlanSlice& slice_;
  const ValueTolerance& tolerance_;
  std::map<std::string, double> rounding_;
  size_t unit_ = 0;
  std::optional<IsolatedOp> op_;
  SliceTrial trial_;
};

}  // namespace

std::string IndexText(const DDim& dims, int64_t element) {
  std::string index;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    const int64_t size = std::max<int64_t>(dims[axis], 1);
    index = Format("{}{}{}", element % size, index.empty() ? "" : ", ", index);
    element /= size;
  }
  return Format("[{}]", index);
}

SliceTrial TrySlice(const PlanPair& pair,
                    const GoldenValues& golden,
                    PlanSlice& slice,
                    const ValueTolerance& tolerance) {
  Watcher watcher(pair, golden, slice, tolerance);
  try {
    watcher.AtEnd(
        slice.plan()->RunObserved(slice.feeds(), &slice.scope(), watcher));
  } catch (const platform::Error& error) {
    if (error.check_id() == "run.cancelled") throw;
    watcher.AtError(error);
  }
  return watcher.Take();
}

}  // namespace sluice::framework
