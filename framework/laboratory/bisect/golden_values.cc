#include "sluice/framework/laboratory/bisect/golden_values.h"

#include <cstring>
#include <utility>

#include "sluice/framework/plan/persistables.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/dtype.h"

namespace sluice::framework {

using platform::CPUPlace;

namespace {

Tensor OnHost(const Tensor& tensor) {
  return tensor.place() == PlaceKey(CPUPlace()) ? tensor
                                                : tensor.CopyTo(CPUPlace());
}

// `order`: which axis of the image each axis of the result is.
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
  const size_t size = platform::SizeOf(from.dtype());
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

// Copies what each op writes.
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
                           const Scope* scope) {
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
}

const Tensor* GoldenValues::Before(size_t unit, const std::string& var) const {
  const auto found = values_.find(var);
  if (found == values_.end()) return nullptr;
  const auto next = found->second.lower_bound(static_cast<int>(unit));
  return next == found->second.begin() ? nullptr : &std::prev(next)->second;
}

}  // namespace sluice::framework
