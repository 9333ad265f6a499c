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

// Tensors by variable name.
using Tensors = std::map<std::string, Tensor>;

// The kernel that a plan at cuda:0 chooses for an op, with its own inputs and
// outputs, so that it can be called repeatedly. Used by the thread of its
// context, which must outlive it.
class DeviceOp {
 public:
  // `inputs` are on the device, or on the host if the schema requires it.
  // Raises what preparing raises; Unimplemented if the kernel is for the CPU,
  // ResourceExhausted if the outputs do not fit.
  DeviceOp(CUDADeviceContext& device, const OneOpProgram& op, Tensors inputs);
  DeviceOp(const DeviceOp&) = delete;
  DeviceOp& operator=(const DeviceOp&) = delete;

  // Enqueues the kernel.
  void Compute();
  // Waits, and frees temporary memory of the kernel.
  void Wait();
  // Frees temporary memory of the kernel if the caller has already waited.
  void ReleaseTemporaries() { context_->ReleaseTemporaries(); }

  // Fills every float output with NaN, to detect elements that are not written.
  void PoisonOutputs();

  const Tensors& inputs() const { return inputs_; }
  const Tensors& outputs() const { return outputs_; }

 private:
  CUDADeviceContext& device_;
  std::shared_ptr<const Plan> plan_;
  Tensors inputs_;
  Tensors outputs_;
  Tensor scratch_;
  std::vector<Tensor*> arguments_;
  RunState run_;
  std::unique_ptr<OpKernelContext> context_;
};

// Creates and fills the inputs that `spec` describes, on the host if they are
// read there.
Tensors MakeInputs(CUDADeviceContext& device,
                   const OpSpec& spec,
                   const OneOpProgram& op);

// The inputs of a gradient op: the inputs and outputs of its forward op, and
// uniform numbers for the gradients of outputs, by GradientFill(i) for input
// variable i.
Tensors MakeGradientInputs(CUDADeviceContext& device,
                           const DeviceOp& forward,
                           const OneOpProgram& gradient);
Fill GradientFill(size_t input);

// Compares with the outputs of the CPU's kernel for the same inputs. Floats may
// differ by `tolerance` times max(1, the CPU's). Returns "", or the difference:
// "Out[7] is 0.5, the CPU's kernel has 0.25".
std::string DifferenceFromCPU(const OneOpProgram& op,
                              const DeviceOp& computed,
                              double tolerance);

}  // namespace sluice::bench
