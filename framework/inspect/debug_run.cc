#include "sluice/framework/inspect/debug_run.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "sluice/framework/inspect/finite_check.h"
#include "sluice/framework/plan/persistables.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

class KeepAll : public RunObserver {
 public:
  bool enters_blocks() const override { return true; }
  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override {
    if (instruction.kernel == nullptr) return;
    for (const int slot : plan.ops()[instruction.context].outputs) {
      const std::string& var = plan.slots()[slot].var;
      if (kept_.count(var) == 0) order_.push_back(var);
      kept_[var] = tensors[slot].CopyTo(CPUPlace());
    }
  }
  std::map<std::string, Tensor> Take() { return std::move(kept_); }
  // The names, as they were first computed.
  const std::vector<std::string>& order() const { return order_; }

 private:
  std::map<std::string, Tensor> kept_;
  std::vector<std::string> order_;
};

// For a run that is to write no persistable of `scope`, and draws the random
// numbers that the next run there would draw.
void CopyState(const Plan& plan, const Scope* scope, Scope* copies) {
  if (scope != nullptr) copies->set_step(scope->step());
  CopyPersistables(plan, scope, copies);
}

}  // namespace

std::vector<Tensor> RunNanChecked(const Plan& plan,
                                  const Feeds& feeds,
                                  Scope* scope) {
  FiniteCheck check(plan);
  return plan.RunObserved(feeds, scope, check);
}

RunFault FindFault(const Plan& plan, const Feeds& feeds, const Scope* scope) {
  Scope copies;
  CopyState(plan, scope, &copies);
  FiniteCheck check(plan);
  try {
    plan.RunObserved(feeds, &copies, check);
  } catch (const Error& error) {
    constexpr std::array<std::string_view, 3> kFound = {
        "run.not_finite", "run.nan_given", "run.unwritten"};
    if (std::count(kFound.begin(), kFound.end(), error.check_id()) == 0) throw;
    return {check.op_index(), error.what()};
  }
  return {};
}

std::vector<Tensor> RunSynchronised(const Plan& plan,
                                    const Feeds& feeds,
                                    Scope* scope) {
  WriteCheck check;
  return plan.RunObserved(feeds, scope, check);
}

std::map<std::string, Tensor> RunKeepingAll(const Plan& plan,
                                            const Feeds& feeds,
                                            const Scope* scope) {
  std::map<std::string, Tensor> values;
  Scope copies;
  CopyState(plan, scope, &copies);
  RunKeepingAll(plan, feeds, &copies, &values);
  return values;
}

std::vector<Tensor> RunKeepingAll(const Plan& plan,
                                  const Feeds& feeds,
                                  Scope* scope,
                                  std::map<std::string, Tensor>* values,
                                  std::vector<std::string>* order) try {
  KeepAll keep;
  auto results = plan.RunObserved(feeds, scope, keep);
  for (const std::string& name : keep.order()) {
    if (order != nullptr && values->count(name) == 0) order->push_back(name);
  }
  for (auto& [name, tensor] : keep.Take()) {
    (*values)[name] = std::move(tensor);
  }
  return results;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
