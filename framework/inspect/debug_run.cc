#include "sluice/framework/inspect/debug_run.h"

#include <cmath>
#include <new>
#include <utility>

#include "sluice/framework/inspect/write_check.h"
#include "sluice/framework/plan/persistables.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

enum class Find { kNaN, kNotFinite };

// Returns the first element that is NaN, or an infinity if asked for, or -1.
template <typename T>
int64_t First(Find find, const Tensor& tensor) {
  const T* values = tensor.data<T>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (std::isnan(values[i])) return i;
    if (find == Find::kNotFinite && std::isinf(values[i])) return i;
  }
  return -1;
}

int64_t First(Find find, const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat32) return First<float>(find, tensor);
  if (tensor.dtype() == DType::kFloat64) return First<double>(find, tensor);
  const bool is_bfloat16 = tensor.dtype() == DType::kBFloat16;
  if (!is_bfloat16 && tensor.dtype() != DType::kFloat16) return -1;
  // The bits of infinity; those of a NaN without its sign are more.
  const uint16_t infinity = is_bfloat16 ? 0x7f80 : 0x7c00;
  const uint16_t least = find == Find::kNaN ? infinity + 1 : infinity;
  const auto* bits = static_cast<const uint16_t*>(tensor.raw_data());
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if ((bits[i] & 0x7fff) >= least) return i;
  }
  return -1;
}

class NanCheck : public WriteCheck {
 public:
  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override {
    WriteCheck::After(plan, instruction, tensors);
    if (instruction.kernel == nullptr) return;
    const PlannedOp& op = plan.ops()[instruction.context];
    for (const int slot : op.inputs) {
      if (plan.slots()[slot].kind == SlotKind::kShape) continue;
      const Tensor input = OnHost(tensors[slot]);
      if (First(Find::kNotFinite, input) < 0) continue;
      CheckGiven(op, plan.slots()[slot], First(Find::kNaN, input));
      return;
    }
    for (const int slot : op.outputs) {
      const Tensor output = OnHost(tensors[slot]);
      const int64_t element = First(Find::kNotFinite, output);
      SLUICE_ENFORCE(element < 0, ErrorCode::kInternal, "run.not_finite",
                     "{}: element {} of output {} ({} {} at {}) is {}, "
                     "although all inputs are finite",
                     op.arguments.op, element, plan.slots()[slot].var,
                     output.dtype(), output.dims(), op.place,
                     First(Find::kNaN, output) == element ? "NaN" : "infinite");
    }
  }

 private:
  // A NaN that no op of the run computed would be found in no output.
  static void CheckGiven(const PlannedOp& op, const Slot& slot, int64_t nan) {
    const bool fed = slot.kind == SlotKind::kFeed;
    SLUICE_ENFORCE(nan < 0 || (!fed && slot.kind != SlotKind::kPersistable),
                   ErrorCode::kInternal, "run.nan_given",
                   "{}: element {} of input {} ({} {}) is NaN already: {}",
                   op.arguments.op, nan, slot.var, slot.dtype, slot.dims,
                   fed ? "it was fed"
                       : "it was stored in the scope, perhaps by a run "
                         "that was not checked");
  }
};

class KeepAll : public RunObserver {
 public:
  bool enters_blocks() const override { return true; }
  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override {
    if (instruction.kernel == nullptr) return;
    for (const int slot : plan.ops()[instruction.context].outputs) {
      kept_[plan.slots()[slot].var] = tensors[slot].CopyTo(CPUPlace());
    }
  }
  std::map<std::string, Tensor> Take() { return std::move(kept_); }

 private:
  std::map<std::string, Tensor> kept_;
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
  NanCheck check;
  return plan.RunObserved(feeds, scope, check);
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
                                  std::map<std::string, Tensor>* values) try {
  KeepAll keep;
  auto results = plan.RunObserved(feeds, scope, keep);
  for (auto& [name, tensor] : keep.Take()) {
    (*values)[name] = std::move(tensor);
  }
  return results;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
