#include "benchmarks/cuda/device_op.h"

#include "benchmarks/cuda/device_kernels.h"
#include <cuda_runtime.h>

#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/tensor_values.h"
#include "sluice/laboratory/tuning/reference.h"
#include "sluice/platform/cuda/cuda_check.h"

namespace sluice::bench {

namespace {

Tensor Filled(CUDADeviceContext& device,
              DType dtype,
              const DDim& dims,
              const Fill& fill) {
  Tensor tensor;
  tensor.Resize(dims).mutable_data(dtype, PlaceKey(device.GetPlace()));
  FillTensor(device, fill, &tensor);
  return tensor;
}

}  // namespace

DeviceOp::DeviceOp(CUDADeviceContext& device, OneOp op)
    : device_(device), op_(std::move(op)), isolated_(Isolate(op_)) {
  const PlaceKey place(device.GetPlace());
  Executor executor(place, {.passes = false});
  const auto plan = executor.Prepare(op_.program, op_.feeds, op_.fetches);
  const Decision& decision = plan->decisions().at(0);
  if (decision.place != place) {
    Raise(ErrorCode::kUnimplemented, "bench.on_cpu", "{} runs on the CPU: {}",
          decision.op, decision.reason);
  }
  const OpFacts& facts = isolated_.facts;
  output_names_ = FlatOutputs(*facts.schema, facts.desc);
  run_ = std::make_unique<KernelRun>(isolated_, *decision.kernel, place,
                                     /*num_threads=*/1, &device);
}

void DeviceOp::RunOnPoison() {
  for (Tensor output : run_->outputs()) {
    if (output.dtype() != DType::kFloat32 || output.numel() == 0) continue;
    CheckCUDA(cudaMemsetAsync(output.raw_data(), 0xFF, output.bytes(),
                              device_.stream()),
              "poisoning an output");
  }
  run_->Run();
}

Tensors DeviceOp::outputs() const {
  Tensors outputs;
  for (size_t i = 0; i < output_names_.size(); ++i) {
    outputs[output_names_[i]] = run_->outputs()[i];
  }
  return outputs;
}

std::string DeviceOp::DifferenceFromCPU(double tolerance) const {
  Feeds feeds = op_.feeds;
  for (auto& [name, tensor] : feeds) {
    tensor = tensor.CopyTo(CPUPlace());
  }
  const Fetches fetches(output_names_.begin(), output_names_.end());
  Executor executor;
  Reference reference{.name = "the CPU's kernel"};
  for (const Tensor& output : executor.Run(op_.program, feeds, fetches)) {
    reference.outputs.push_back(ToDoubles(output));
    Bound& bound = reference.bounds.emplace_back();
    if (!IsFloating(output.dtype())) continue;  // integers are equal
    bound = {.absolute = tolerance, .relative = tolerance};
  }
  return CompareWithReference(isolated_, reference, run_->outputs()).message;
}

Tensors MakeInputs(CUDADeviceContext& device, const OpExample& example) {
  const OpSchema& schema = Registry::Global().Schema(example.op);
  Tensors inputs;
  for (const FilledInput& input : InputsOf(example)) {
    Tensor& tensor = inputs[input.name];
    tensor = Filled(device, input.dtype, input.dims, input.fill);
    device.Wait();
    if (schema.FindInput(input.argument)->traits.host) {
      tensor = tensor.CopyTo(CPUPlace());
    }
  }
  return inputs;
}

Fill GradientFill(size_t input) {
  return {Fill::Kind::kUniform, -1, 1, 100 + static_cast<uint32_t>(input)};
}

OneOp MakeGradient(CUDADeviceContext& device,
                   const OneOp& forward,
                   const std::string& gradient,
                   Tensors tensors) {
  const OneOp described = DescribeGradient(forward, gradient);
  for (size_t i = 0; i < described.feeds.size(); ++i) {
    const auto& [name, outline] = described.feeds[i];
    if (tensors.contains(name)) continue;
    tensors[name] =
        Filled(device, outline.dtype(), outline.dims(), GradientFill(i));
  }
  device.Wait();
  return MakeOp(GradientDesc(forward, gradient), tensors);
}

}  // namespace sluice::bench
