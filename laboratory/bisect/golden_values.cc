#include "sluice/laboratory/bisect/golden_values.h"

#include <cstring>
#include <exception>
#include <new>
#include <set>
#include <utility>

#include "sluice/framework/plan/persistables.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/laboratory/bisect/plan_side.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/laboratory/tuning/reference.h"
#include "sluice/laboratory/tuning/verify.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

Tensor OnHost(const Tensor& tensor) {
  return tensor.place() == PlaceKey(CPUPlace()) ? tensor
                                                : tensor.CopyTo(CPUPlace());
}

// `order[i]` is the axis of the image that becomes axis i of the result.
Tensor Permute(const Tensor& image, const int (&order)[4]) {
  const Tensor from = OnHost(image);
  const DDim& dims = from.dims();
  const int64_t strides[4] = {dims[1] * dims[2] * dims[3], dims[2] * dims[3],
                              dims[3], 1};
  const DDim to_dims(
      {dims[order[0]], dims[order[1]], dims[order[2]], dims[order[3]]});
  Tensor to;
  auto* out = static_cast<char*>(
      to.Resize(to_dims).mutable_data(from.dtype(), CPUPlace()));
  const auto* in = static_cast<const char*>(std::as_const(from).raw_data());
  const size_t size = SizeOf(from.dtype());
  for (int64_t i = 0; i < to_dims[0]; ++i) {
    for (int64_t j = 0; j < to_dims[1]; ++j) {
      for (int64_t k = 0; k < to_dims[2]; ++k) {
        const int64_t begin = i * strides[order[0]] + j * strides[order[1]] +
                              k * strides[order[2]];
        for (int64_t l = 0; l < to_dims[3]; ++l, out += size) {
          const int64_t element = begin + l * strides[order[3]];
          std::memcpy(out, in + static_cast<size_t>(element) * size, size);
        }
      }
    }
  }
  return to;
}

// Rethrows the exception being handled if it does not prove a kernel wrong,
// e.g. when memory ran out.
void ThrowIfCircumstance(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  if (no_memory || (known != nullptr && IsCircumstance(*known))) throw;
}

// Outputs of an op for these inputs, by slot. They come from its own kernel or,
// if that is wrong, from its plain kernel, so that later ops are not reported
// as well. Empty if neither can run.
std::vector<Tensor> RunOfOp(const Plan& plan,
                            int op,
                            const std::vector<Tensor>& tensors) {
  const IsolatedOp isolated = Isolate(plan, op, tensors.data());
  const Decision& decision = plan.decisions()[op];
  const auto run = [&](const KernelDef& kernel, PlaceKey place) {
    KernelRun kernel_run(isolated, kernel, place, plan.num_threads());
    kernel_run.Run();
    return kernel_run.outputs();
  };
  const KernelDef* plain = PlainKernel(isolated.facts, Registry::Global());
  std::vector<Tensor> own;
  try {
    own = run(*decision.kernel, decision.place);
    if (plain == nullptr || plain == decision.kernel) return own;
    const Reference reference = ComputeReference(isolated, Registry::Global());
    if (CompareWithReference(isolated, reference, own).message.empty()) {
      return own;
    }
  } catch (const std::exception& error) {
    ThrowIfCircumstance(error);
  }
  try {
    return plain == nullptr ? own : run(*plain, CPUPlace());
  } catch (const std::exception& error) {
    ThrowIfCircumstance(error);
    return own;
  }
}

// Copies the outputs of each op.
class Recorder : public RunObserver {
 public:
  using Values = std::vector<std::map<std::string, Tensor>>;

  explicit Recorder(const Plan& plan) : values_(plan.ops().size()) {}

  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override {
    if (instruction.kernel == nullptr) return;
    for (const int slot : plan.ops()[instruction.context].outputs) {
      values_[instruction.context][plan.slots()[slot].var] =
          tensors[slot].CopyTo(CPUPlace());
    }
  }

  Values Take() { return std::move(values_); }

 private:
  Values values_;
};

}  // namespace

Tensor ChannelsLast(const Tensor& image) {
  return Permute(image, {0, 2, 3, 1});
}

Tensor ChannelsFirst(const Tensor& image) {
  return Permute(image, {0, 3, 1, 2});
}

GoldenValues::GoldenValues(const PlanPair& pair,
                           const Feeds& feeds,
                           const Scope* scope)
    : pair_(pair) {
  for (const auto& [name, tensor] : feeds) {
    values_[name][-1] = OnHost(tensor);
  }
  Scope copies;
  for (const Plan* plan : {&pair.a(), &pair.b()}) {
    CopyPersistables(*plan, scope, &copies);
    for (const Slot& slot : plan->slots()) {
      if (slot.kind != SlotKind::kPersistable) continue;
      const Variable* variable = copies.FindVar(slot.var);
      const Tensor* tensor =
          variable == nullptr ? nullptr : variable->Get<Tensor>();
      if (tensor != nullptr && tensor->allocated()) {
        values_[slot.var][-1] = OnHost(*tensor);
      }
    }
  }
  Recorder recorder(pair.a());
  pair.a().RunObserved(feeds, &copies, recorder);
  const Recorder::Values by_op = recorder.Take();
  for (size_t unit = 0; unit < pair.units().size(); ++unit) {
    for (const int op : pair.units()[unit].a) {
      for (const auto& [var, tensor] : by_op[op]) {
        const ProgramValue& value = pair.ValueInA(var);
        values_[value.var][static_cast<int>(unit)] =
            value.channels_last ? ChannelsFirst(tensor) : tensor;
      }
    }
  }
  Recompute();
}

// Runs ops in the order of plan b, so that recomputed inputs exist.
void GoldenValues::Recompute() {
  if (pair_.recomputed().empty()) return;
  const Plan& plan = pair_.b();
  std::vector<size_t> unit_of(plan.ops().size());
  for (size_t unit = 0; unit < pair_.units().size(); ++unit) {
    for (const int op : pair_.units()[unit].b) {
      unit_of[op] = unit;
    }
  }
  const std::set<int> recomputed(pair_.recomputed().begin(),
                                 pair_.recomputed().end());
  std::map<std::string, size_t> written;  // value: last writing unit
  for (int op = 0; op < static_cast<int>(plan.ops().size()); ++op) {
    if (recomputed.count(op) > 0) RecomputeOp(op, unit_of[op], written);
    for (const int slot : plan.ops()[op].outputs) {
      written[pair_.ValueInB(plan.slots()[slot].var).var] = unit_of[op];
    }
  }
}

void GoldenValues::RecomputeOp(int op,
                               size_t unit,
                               const std::map<std::string, size_t>& written) {
  const Plan& plan = pair_.b();
  const PlannedOp& planned = plan.ops()[op];
  const std::vector<bool> shape_only =
      ReadForShapeOnly(plan.op_descs()[planned.op_index]);
  std::vector<Tensor> tensors(plan.slots().size());
  for (size_t i = 0; i < planned.inputs.size(); ++i) {
    if (shape_only[i]) continue;
    const int index = planned.inputs[i];
    const ProgramValue& value = pair_.ValueInB(plan.slots()[index].var);
    const auto last = written.find(value.var);
    const bool here = last != written.end() && last->second == unit;
    const Tensor* input = BeforeInB(here ? unit + 1 : unit, value.var);
    if (input == nullptr) return;
    tensors[index] = value.channels_last ? ChannelsLast(*input) : *input;
  }
  const std::vector<Tensor> outputs = RunOfOp(plan, op, tensors);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Slot& slot = plan.slots()[planned.outputs[i]];
    const ProgramValue& value = pair_.ValueInB(slot.var);
    if (pair_.IsShared(value)) continue;
    only_in_b_[value.var] =
        value.channels_last ? ChannelsFirst(outputs[i]) : OnHost(outputs[i]);
  }
}

const Tensor* GoldenValues::OfB(const std::string& var) const {
  const auto found = only_in_b_.find(var);
  return found == only_in_b_.end() ? nullptr : &found->second;
}

const Tensor* GoldenValues::BeforeInB(size_t unit,
                                      const std::string& var) const {
  if (pair_.IsShared({var})) return Before(unit, var);
  if (const Tensor* recomputed = OfB(var)) return recomputed;
  // A value from before the run means the same in both plans.
  const auto found = values_.find(var);
  const bool there = found != values_.end() && found->second.count(-1) > 0;
  return there ? Before(unit, var) : nullptr;
}

const Tensor* GoldenValues::Before(size_t unit, const std::string& var) const {
  const auto found = values_.find(var);
  if (found == values_.end()) return nullptr;
  const auto next = found->second.lower_bound(static_cast<int>(unit));
  return next == found->second.begin() ? nullptr : &std::prev(next)->second;
}

}  // namespace sluice
