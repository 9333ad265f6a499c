#include "sluice/framework/laboratory/kernel_run.h"

#include <utility>

#include "sluice/platform/device.h"
#include "sluice/platform/device_context_pool.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::framework {

using platform::CPUPlace;

IsolatedOp Isolate(const Plan& plan, int planned_op, const Tensor* tensors) {
  const PlannedOp& planned = plan.ops()[planned_op];
  IsolatedOp op;
  OpFacts& facts = op.facts;
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
    op.inputs.push_back(tensors[slot]);
  }
  return op;
}

KernelRun::KernelRun(const IsolatedOp& op,
                     const KernelDef& kernel,
                     PlaceKey place,
                     int num_threads)
    : op_(op),
      place_(place),
      num_threads_(num_threads),
      arguments_(MakeArgTable(op.facts)) {
  const OpFacts& facts = op.facts;
  kernel_ = kernel.make({facts.desc, kernel.key, facts.id});
  const KernelQuery query = facts.QueryAt(place);
  KernelPreparation preparation{query};
  preparation.num_threads = num_threads;
  kernel_->Prepare(preparation);
  if (place.kind != platform::PlaceKind::kCPU) {
    device_ = platform::DeviceManager::Instance().Get(place).CreateContext();
  }
  BringInputs();
  for (size_t i = 0; i < facts.outputs.size(); ++i) {
    Tensor& output = outputs_.emplace_back();
    output.Resize(facts.outputs[i]).mutable_data(facts.output_dtypes[i], place);
  }
  void* scratch = nullptr;
  if (preparation.scratch_bytes > 0) {
    const auto bytes = static_cast<int64_t>(preparation.scratch_bytes);
    scratch = scratch_.Resize(DDim({bytes})).mutable_data(DType::kUInt8, place);
  }
  for (Tensor& tensor : inputs_) {
    pointers_.push_back(&tensor);
  }
  for (Tensor& tensor : outputs_) {
    pointers_.push_back(&tensor);
  }
  context_ = std::make_unique<OpKernelContext>(
      arguments_, place,
      device_ == nullptr
          ? platform::DeviceContextPool::Instance().Get(CPUPlace())
          : *device_,
      pointers_.data(), pointers_.data() + inputs_.size(), scratch, &step_);
}

// Shapes without data stay as they are.
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

void KernelRun::Run() {
  const platform::ThreadCountGuard threads(num_threads_);
  if (device_ == nullptr) return kernel_->Compute(*context_);
  device_->Compute([&] { kernel_->Compute(*context_); });
  device_->Wait();
  context_->ReleaseTemporaries();
}

}  // namespace sluice::framework
