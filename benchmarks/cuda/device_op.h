#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/cuda/op_spec.h"

#include "sluice/framework/op/op_kernel_context.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/platform/cuda_device_context.h"

namespace sluice::bench {

// By variable name.
using Tensors = std::map<std::string, framework::Tensor>;

// The kernel that a plan at cuda:0 chooses for an op, with inputs and outputs
// of its own, so that it can be called again and again by itself. Used by the
// thread of its context, which must outlive it.
class DeviceOp {
 public:
  // `inputs` lie on the device, or on the host where the schema says so.
  // Raises what preparing raises; Unimplemented when the kernel is one of the
  // CPU's, ResourceExhausted when the outputs do not fit.
  DeviceOp(platform::CUDADeviceContext& device,
           const OneOpProgram& op,
           Tensors inputs);
  DeviceOp(const DeviceOp&) = delete;
  DeviceOp& operator=(const DeviceOp&) = delete;

  // Enqueues the kernel.
  void Compute();
  // Waits, and gives back what the kernel allocated for itself.
  void Wait();
  // The same without waiting, where somebody has waited already.
  void ReleaseTemporaries() { context_->ReleaseTemporaries(); }

  // Makes every float output NaN, so that what a kernel leaves out shows.
  void PoisonOutputs();

  const Tensors& inputs() const { return inputs_; }
  const Tensors& outputs() const { return outputs_; }

 private:
  platform::CUDADeviceContext& device_;
  std::shared_ptr<const framework::Plan> plan_;
  Tensors inputs_;
  Tensors outputs_;
  framework::Tensor scratch_;
  std::vector<framework::Tensor*> arguments_;
  uint64_t step_ = 0;
  std::unique_ptr<framework::OpKernelContext> context_;
};

// The inputs that `spec` describes, filled; those that are read on the host
// lie there.
Tensors MakeInputs(platform::CUDADeviceContext& device,
                   const OpSpec& spec,
                   const OneOpProgram& op);

// The inputs of a gradient op: the inputs and outputs of its forward op, and
// uniform numbers for the gradients of outputs. GradientFill(i) is that of
// input variable i.
Tensors MakeGradientInputs(platform::CUDADeviceContext& device,
                           const DeviceOp& forward,
                           const OneOpProgram& gradient);
Fill GradientFill(size_t input);

// Compares with what the CPU's kernel makes of the same inputs. Floats may be
// `tolerance` times max(1, the CPU's) apart. Returns "", or what differs:
// "Out[7] is 0.5, the CPU's kernel has 0.25".
std::string DifferenceFromCPU(const OneOpProgram& op,
                              const DeviceOp& computed,
                              double tolerance);

}  // namespace sluice::bench
