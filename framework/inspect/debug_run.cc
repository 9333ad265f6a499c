#include "sluice/framework/inspect/debug_run.h"

#include <cmath>
#include <new>
#include <utility>

#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Returns the first element that is not finite, or -1.
template <typename T>
int64_t FirstNotFinite(const Tensor& tensor) {
  const T* values = tensor.data<T>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (!std::isfinite(values[i])) return i;
  }
  return -1;
}

int64_t FirstNotFinite(const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat32) return FirstNotFinite<float>(tensor);
  if (tensor.dtype() == DType::kFloat64) return FirstNotFinite<double>(tensor);
  const bool is_bfloat16 = tensor.dtype() == DType::kBFloat16;
  if (!is_bfloat16 && tensor.dtype() != DType::kFloat16) return -1;
  // All exponent bits set: infinity or NaN.
  const uint16_t exponent = is_bfloat16 ? 0x7f80 : 0x7c00;
  const auto* bits = static_cast<const uint16_t*>(tensor.raw_data());
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if ((bits[i] & exponent) == exponent) return i;
  }
  return -1;
}

Tensor OnHost(const Tensor& tensor) {
  return tensor.place().kind == PlaceKind::kCPU ? tensor
                                                : tensor.CopyTo(CPUPlace());
}

class NanCheck : public RunObserver {
 public:
  bool enters_blocks() const override { return true; }
  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override {
    if (instruction.kernel == nullptr) return;
    const PlannedOp& op = plan.ops()[instruction.context];
    for (const int slot : op.inputs) {
      if (plan.slots()[slot].kind == SlotKind::kShape) continue;
      if (FirstNotFinite(OnHost(tensors[slot])) >= 0) return;
    }
    for (const int slot : op.outputs) {
      const int64_t element = FirstNotFinite(OnHost(tensors[slot]));
      SLUICE_ENFORCE(element < 0, ErrorCode::kInternal, "run.not_finite",
                     "{}: element {} of output {} ({} {} at {}) is not finite, "
                     "although all inputs are",
                     op.arguments.op, element, plan.slots()[slot].var,
                     plan.slots()[slot].dtype, plan.slots()[slot].dims,
                     op.place);
    }
  }
};

class Synchronise : public RunObserver {
 public:
  bool enters_blocks() const override { return true; }
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
  Synchronise synchronise;
  return plan.RunObserved(feeds, scope, synchronise);
}

std::map<std::string, Tensor> RunKeepingAll(const Plan& plan,
                                            const Feeds& feeds,
                                            Scope* scope) {
  std::map<std::string, Tensor> values;
  RunKeepingAll(plan, feeds, scope, &values);
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
