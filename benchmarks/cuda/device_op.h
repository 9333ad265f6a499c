#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/cuda/op_program.h"

#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/platform/cuda_device_context.h"

namespace sluice::bench {

// The kernel that a plan at cuda:0 chooses for an op, with its own outputs, so
// that it can be called repeatedly. Used by the thread of its context, which
// must outlive it.
class DeviceOp {
 public:
  // `op` is fed with tensors on the device, or on the host where the schema
  // requires it. Raises what preparing raises; Unimplemented if the kernel is
  // for the CPU, ResourceExhausted if the outputs do not fit.
  DeviceOp(CUDADeviceContext& device, OneOp op);
  DeviceOp(const DeviceOp&) = delete;
  DeviceOp& operator=(const DeviceOp&) = delete;

  const OneOp& op() const { return op_; }
  KernelRun& run() { return *run_; }

  // Runs the kernel once, and waits, with every float output full of NaNs, to
  // detect elements that are not written.
  void RunOnPoison();

  // Outputs by variable.
  Tensors outputs() const;

  // Compares with the outputs of the CPU's kernel for the same inputs. Floats
  // may differ by `tolerance` times max(1, the CPU's). Returns "", or the
  // difference: "Out[7] is 0.5, the CPU's kernel gives 0.25".
  std::string DifferenceFromCPU(double tolerance) const;

 private:
  CUDADeviceContext& device_;
  OneOp op_;
  IsolatedOp isolated_;
  std::vector<std::string> output_names_;
  std::unique_ptr<KernelRun> run_;
};

// Creates and fills the inputs that `example` describes, on the host if they
// are read there.
Tensors MakeInputs(CUDADeviceContext& device, const OpExample& example);

// The gradient op of an op that has run: its inputs are the inputs and outputs
// of `forward`, and uniform numbers for the gradients of outputs, by
// GradientFill(i) for input variable i.
OneOp MakeGradient(CUDADeviceContext& device,
                   const OneOp& forward,
                   const std::string& gradient,
                   Tensors tensors);
Fill GradientFill(size_t input);

}  // namespace sluice::bench
