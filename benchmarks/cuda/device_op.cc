#include "benchmarks/cuda/device_op.h"

#include <algorithm>
#include <cmath>

#include "benchmarks/cuda/device_kernels.h"
#include <cuda_runtime.h>

#include "sluice/framework/run/executor.h"
#include "sluice/platform/cuda/cuda_check.h"

namespace sluice::bench {

namespace {

PlaceKey PlaceOf(const CUDADeviceContext& device) {
  return PlaceKey(device.GetPlace());
}

Feeds InOrder(const OneOpProgram& op, const Tensors& inputs) {
  Feeds feeds;
  for (const auto& [argument, vars] : op.op.inputs) {
    for (const std::string& name : vars) {
      feeds.emplace_back(name, inputs.at(name));
    }
  }
  return feeds;
}

Fetches Outputs(const OneOpProgram& op) {
  Fetches fetches;
  for (const auto& [argument, vars] : op.op.outputs) {
    fetches.insert(fetches.end(), vars.begin(), vars.end());
  }
  return fetches;
}

template <typename T>
std::string Difference(const std::string& name,
                       const Tensor& got,
                       const Tensor& want,
                       double tolerance) {
  const std::vector<T> left = got.ToVector<T>();
  const std::vector<T> right = want.ToVector<T>();
  for (size_t i = 0; i < left.size(); ++i) {
    const auto a = static_cast<double>(left[i]);
    const auto b = static_cast<double>(right[i]);
    const double most = std::is_floating_point_v<T>
                            ? tolerance * std::max(1.0, std::abs(b))
                            : 0.0;
    if (!(std::abs(a - b) <= most)) {
      return Format("{}[{}] is {}, the CPU's kernel has {}", name, i, a, b);
    }
  }
  return "";
}

std::string DifferenceOf(const std::string& name,
                         const Tensor& got,
                         const Tensor& want,
                         double tolerance) {
  switch (got.dtype()) {
    case DType::kFloat32:
      return Difference<float>(name, got, want, tolerance);
    case DType::kFloat64:
      return Difference<double>(name, got, want, tolerance);
    case DType::kInt64:
      return Difference<int64_t>(name, got, want, tolerance);
    case DType::kUInt8:
      return Difference<uint8_t>(name, got, want, tolerance);
    default:
      return "";  // other inputs follow from these
  }
}

}  // namespace

DeviceOp::DeviceOp(CUDADeviceContext& device,
                   const OneOpProgram& op,
                   Tensors inputs)
    : device_(device), inputs_(std::move(inputs)) {
  const PlaceKey place = PlaceOf(device);
  Executor executor(place, {.passes = false});
  plan_ = executor.Prepare(op.program, InOrder(op, inputs_), Outputs(op));
  const PlannedOp& planned = plan_->ops().at(0);
  if (planned.place != place) {
    Raise(ErrorCode::kUnimplemented, "bench.on_cpu", "{} runs on the CPU: {}",
          op.op.type, plan_->decisions().at(0).reason);
  }
  for (const int index : planned.inputs) {
    arguments_.push_back(&inputs_.at(plan_->slots()[index].var));
  }
  for (const int index : planned.outputs) {
    const Slot& slot = plan_->slots()[index];
    Tensor& output = outputs_[slot.var];
    output.Resize(slot.dims).mutable_data(slot.dtype, place);
    arguments_.push_back(&output);
  }
  scratch_.Resize({static_cast<int64_t>(planned.scratch_bytes)})
      .mutable_data(DType::kUInt8, place);
  context_ = std::make_unique<OpKernelContext>(
      planned.arguments, place, device_, arguments_.data(),
      arguments_.data() + planned.inputs.size(), scratch_.raw_data(), &run_);
}

void DeviceOp::Compute() {
  device_.Compute([&] { plan_->ops()[0].kernel->Compute(*context_); });
}

void DeviceOp::Wait() {
  device_.Wait();
  ReleaseTemporaries();
}

void DeviceOp::PoisonOutputs() {
  for (auto& [name, output] : outputs_) {
    if (output.dtype() != DType::kFloat32 || output.numel() == 0) continue;
    CheckCUDA(cudaMemsetAsync(output.raw_data(), 0xFF, output.bytes(),
                              device_.stream()),
              "poisoning an output");
  }
}

Tensors MakeInputs(CUDADeviceContext& device,
                   const OpSpec& spec,
                   const OneOpProgram& op) {
  Tensors inputs;
  const std::vector<std::string> names = InputNames(spec);
  for (size_t i = 0; i < names.size(); ++i) {
    const InputSpec& input = spec.inputs[i];
    Tensor tensor;
    tensor.Resize(input.dims).mutable_data(input.dtype, PlaceOf(device));
    FillTensor(device, input.fill, &tensor);
    device.Wait();
    if (op.TraitsOf(names[i]).host) tensor = tensor.CopyTo(CPUPlace());
    inputs[names[i]] = tensor;
  }
  return inputs;
}

Fill GradientFill(size_t input) {
  return {Fill::Kind::kUniform, -1, 1, 100 + static_cast<uint32_t>(input)};
}

Tensors MakeGradientInputs(CUDADeviceContext& device,
                           const DeviceOp& forward,
                           const OneOpProgram& gradient) {
  Tensors inputs;
  size_t next = 0;
  for (const auto& [argument, vars] : gradient.op.inputs) {
    for (const std::string& name : vars) {
      const Fill fill = GradientFill(next++);
      const auto input = forward.inputs().find(name);
      const auto output = forward.outputs().find(name);
      if (input != forward.inputs().end()) {
        inputs[name] = input->second;
      } else if (output != forward.outputs().end()) {
        inputs[name] = output->second;
      } else {
        const VarDesc& var = gradient.Var(name);
        Tensor& tensor = inputs[name];
        tensor.Resize(var.dims).mutable_data(var.dtype, PlaceOf(device));
        FillTensor(device, fill, &tensor);
      }
    }
  }
  device.Wait();
  return inputs;
}

std::string DifferenceFromCPU(const OneOpProgram& op,
                              const DeviceOp& computed,
                              double tolerance) {
  Tensors inputs;
  for (const auto& [name, tensor] : computed.inputs()) {
    inputs[name] = tensor.CopyTo(CPUPlace());
  }
  Executor executor;
  const Fetches fetches = Outputs(op);
  const std::vector<Tensor> wanted =
      executor.Run(op.program, InOrder(op, inputs), fetches);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string& name = fetches[i].name();
    std::string difference =
        DifferenceOf(name, computed.outputs().at(name), wanted[i], tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace sluice::bench
