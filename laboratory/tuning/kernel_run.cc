#include "sluice/laboratory/tuning/kernel_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "sluice/framework/op/kernel_call.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/values/tensor_values.h"
#include "sluice/memory/copy.h"
#include "sluice/platform/device.h"
#include "sluice/platform/device_context_pool.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

// Size of the guard before and after each output: a multiple of every alignment
// that devices require.
constexpr size_t kGuardBytes = 512;
constexpr uint8_t kGuard = 0xA5;

void Fill(PlaceKey place, void* pointer, uint8_t value, size_t bytes) {
  if (bytes == 0) return;
  if (place.kind == PlaceKind::kCPU) {
    std::memset(pointer, value, bytes);
    return;
  }
  const std::vector<uint8_t> values(bytes, value);
  Copy(place, pointer, CPUPlace(), values.data(), bytes);
}

bool IsFilled(PlaceKey place, const void* pointer) {
  std::vector<uint8_t> values(kGuardBytes);
  Copy(CPUPlace(), values.data(), place, pointer, kGuardBytes);
  return std::all_of(values.begin(), values.end(),
                     [](uint8_t value) { return value == kGuard; });
}

}  // namespace

OpFacts FactsOf(const Plan& plan, int planned_op) {
  const PlannedOp& planned = plan.ops()[planned_op];
  OpFacts facts;
  facts.desc = plan.op_descs()[planned.op_index];
  facts.id = planned.op_index;
  facts.schema = &Registry::Global().Schema(facts.desc.type);
  facts.dtype = plan.decisions()[planned_op].kernel->key.dtype;
  facts.input_constant = planned.input_constant;
  facts.outputs = planned.arguments.output_dims;
  facts.output_dtypes = planned.arguments.output_dtypes;
  for (const int slot : planned.inputs) {
    facts.inputs.push_back(plan.slots()[slot].dims);
    facts.input_dtypes.push_back(plan.slots()[slot].dtype);
  }
  return facts;
}

IsolatedOp Isolate(const Plan& plan, int planned_op, const Tensor* tensors) {
  IsolatedOp op = {.facts = FactsOf(plan, planned_op), .inputs = {}};
  for (const int slot : plan.ops()[planned_op].inputs) {
    op.inputs.push_back(tensors[slot]);
  }
  return op;
}

IsolatedOp WithFiniteInputs(IsolatedOp op) {
  for (Tensor& input : op.inputs) {
    if (!input.allocated() || !IsFloating(input.dtype())) continue;
    std::vector<double> values = ToDoubles(input.CopyTo(CPUPlace()));
    bool finite = true;
    double place = 0;  // by the golden ratio: no two near each other are alike
    for (double& value : values) {
      place += 0.618034 - (place > 0.381966 ? 1 : 0);
      if (std::isfinite(value)) continue;
      finite = false;
      value = 0.5 + place;
    }
    if (!finite) input = FromDoubles(input.dtype(), input.dims(), values);
  }
  return op;
}

IsolatedOp Isolate(const OneOp& op) {
  IsolatedOp isolated;
  OpFacts& facts = isolated.facts;
  facts.desc = op.program.block().ops[0];
  facts.id = 0;
  facts.schema = &Registry::Global().Schema(facts.desc.type);
  for (const std::string& name : FlatInputs(*facts.schema, facts.desc)) {
    const auto fed =
        std::find_if(op.feeds.begin(), op.feeds.end(),
                     [&](const auto& feed) { return feed.first == name; });
    isolated.inputs.push_back(fed->second);
    facts.inputs.push_back(fed->second.dims());
    facts.input_dtypes.push_back(fed->second.dtype());
  }
  facts.input_constant.assign(facts.inputs.size(), 0);
  facts.dtype =
      BoundTypes(*facts.schema, facts.desc, facts.input_dtypes).KernelDType();
  for (const std::string& name : FlatOutputs(*facts.schema, facts.desc)) {
    const VarDesc& var = op.program.FindVar(name);
    facts.outputs.push_back(var.dims);
    facts.output_dtypes.push_back(var.dtype);
  }
  return isolated;
}

std::string InputName(const OpFacts& op, size_t input) {
  for (const ArgDef& def : op.schema->inputs()) {
    const size_t count = op.desc.Input(def.name).size();
    if (input < count) return def.name;
    input -= count;
  }
  return "";
}

std::string OutputName(const OpFacts& op, size_t output) {
  for (const auto& [argument, vars] : op.desc.outputs) {
    if (output < vars.size()) return argument;
    output -= vars.size();
  }
  return "";
}

KernelRun::KernelRun(const IsolatedOp& op,
                     const KernelDef& kernel,
                     PlaceKey place,
                     int num_threads,
                     DeviceContext* queue)
    : op_(op),
      place_(place),
      num_threads_(num_threads),
      queue_(queue),
      arguments_(MakeArgTable(op.facts.QueryAt(place))) {
  const OpFacts& facts = op.facts;
  const KernelQuery query = facts.QueryAt(place);
  KernelPreparation preparation{query};
  preparation.num_threads = num_threads;
  kernel_ =
      MakePrepared(kernel, {facts.desc, kernel.key, facts.id}, &preparation);
  if (queue == nullptr && place.kind != PlaceKind::kCPU) {
    own_queue_ = DeviceManager::Instance().Get(place).CreateContext();
  } else if (queue == nullptr && kernel.make_queue != nullptr) {
    own_queue_ = kernel.make_queue();
  }
  if (own_queue_ != nullptr) queue_ = own_queue_.get();
  BringInputs();
  for (size_t i = 0; i < facts.outputs.size(); ++i) {
    outputs_.push_back(facts.outputs[i].known()
                           ? Guarded(facts.output_dtypes[i], facts.outputs[i])
                           : Tensor());
  }
  void* scratch = nullptr;
  if (preparation.scratch_bytes > 0) {
    const auto bytes = static_cast<int64_t>(preparation.scratch_bytes);
    scratch_ = Guarded(DType::kUInt8, DDim({bytes}));
    scratch = scratch_.raw_data();
  }
  for (Tensor& tensor : inputs_) {
    pointers_.push_back(&tensor);
  }
  for (Tensor& tensor : outputs_) {
    pointers_.push_back(&tensor);
  }
  context_ = std::make_unique<OpKernelContext>(
      arguments_, place,
      queue_ == nullptr ? DeviceContextPool::Instance().Get(CPUPlace())
                        : *queue_,
      pointers_.data(), pointers_.data() + inputs_.size(), scratch, &run_);
}

// Tensors that have a shape but no data are left unchanged.
void KernelRun::BringInputs() {
  size_t flat = 0;
  for (const ArgDef& def : op_.facts.schema->inputs()) {
    const size_t count = op_.facts.desc.Input(def.name).size();
    for (size_t i = 0; i < count; ++i, ++flat) {
      const Tensor& given = op_.inputs[flat];
      const PlaceKey wanted = def.traits.host ? PlaceKey(CPUPlace()) : place_;
      const bool there = !given.allocated() || def.traits.shape_only ||
                         given.place() == wanted;
      inputs_.push_back(there ? given : given.CopyTo(wanted));
    }
  }
}

Tensor KernelRun::Guarded(DType dtype, const DDim& dims) {
  const auto bytes = static_cast<size_t>(dims.numel()) * SizeOf(dtype);
  auto memory = std::make_shared<Placeholder>(place_, bytes + 2 * kGuardBytes);
  auto* begin = static_cast<uint8_t*>(memory->pointer());
  Fill(place_, begin, kGuard, kGuardBytes);
  Fill(place_, begin + kGuardBytes + bytes, kGuard, kGuardBytes);
  Tensor tensor;
  tensor.Bind(std::move(memory), kGuardBytes, dtype, dims);
  return tensor;
}

void KernelRun::Spoil(bool other) {
  const uint8_t bytes_value = other ? 0x4B : 0xFF;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Tensor& output = outputs_[i];
    if (!op_.facts.outputs[i].known()) {
      output = Tensor();
      continue;
    }
    const bool is_bool = output.dtype() == DType::kBool;
    Fill(place_, output.raw_data(), is_bool ? (other ? 0 : 1) : bytes_value,
         output.bytes());
  }
  if (scratch_.allocated()) {
    Fill(place_, scratch_.raw_data(), bytes_value, scratch_.bytes());
  }
}

std::string KernelRun::WrittenOutside() const {
  const auto side = [this](const Tensor& tensor) {
    const auto* data = static_cast<const uint8_t*>(tensor.raw_data());
    if (!IsFilled(place_, data - kGuardBytes)) return "before";
    return IsFilled(place_, data + tensor.bytes()) ? "" : "after";
  };
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!op_.facts.outputs[i].known()) continue;
    const std::string written = side(outputs_[i]);
    if (written.empty()) continue;
    return Format("it writes {} the memory of {} (its {} elements)", written,
                  OutputName(op_.facts, i), outputs_[i].numel());
  }
  if (!scratch_.allocated()) return "";
  const std::string written = side(scratch_);
  if (written.empty()) return "";
  return Format("it writes {} its scratch memory ({} bytes)", written,
                scratch_.bytes());
}

void KernelRun::Run() {
  Enqueue();
  if (queue_ == nullptr) return;
  queue_->Wait();
  ReleaseTemporaries();
}

void KernelRun::Enqueue() {
  const ThreadCountGuard threads(num_threads_);
  if (queue_ == nullptr) return kernel_->Compute(*context_);
  queue_->Compute([&] { kernel_->Compute(*context_); });
}

}  // namespace sluice
