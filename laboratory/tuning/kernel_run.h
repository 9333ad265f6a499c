#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/op/op_kernel.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/device_context.h"
#include "sluice/platform/export.h"

namespace sluice {

// One op with values for its inputs, outside of a plan.
struct IsolatedOp {
  OpFacts facts;
  // Flattened in schema order, at any place. Inputs read only for their shape
  // need no data.
  std::vector<Tensor> inputs;
};

// The op of a plan by its index in Plan::ops().
SLUICE_API OpFacts FactsOf(const Plan& plan, int planned_op);

// The op of a plan with its inputs. `tensors` are the frame's by slot, as a
// RunObserver sees them before the op runs.
SLUICE_API IsolatedOp Isolate(const Plan& plan,
                              int planned_op,
                              const Tensor* tensors);
// The op of a program of one, with what it is fed.
SLUICE_API IsolatedOp Isolate(const OneOp& op);

// The op with numbers from 0.5 to 1.5 in place of NaNs and infinities: on these
// a wrong kernel may be as right as any other.
SLUICE_API IsolatedOp WithFiniteInputs(IsolatedOp op);

// "X" and "Out": the argument that an input or output of the op, flattened in
// schema order, belongs to.
SLUICE_API std::string InputName(const OpFacts& op, size_t input);
SLUICE_API std::string OutputName(const OpFacts& op, size_t output);

// One kernel for an isolated op, called as a plan would call it: inputs,
// outputs and scratch memory are at its place. Each output and the scratch
// memory is between guard bytes; outputs whose shape depends on data have none,
// because the kernel allocates them. Keeps references to the op and the
// kernel's definition. Used by one thread.
class SLUICE_API KernelRun {
 public:
  // Makes the kernel and prepares it for `num_threads`. Raises what these
  // raise; Unimplemented means that the kernel refuses the op. `queue` is one
  // of a device at `place`, for a caller that times it; by default the kernel
  // has its own.
  KernelRun(const IsolatedOp& op,
            const KernelDef& kernel,
            PlaceKey place,
            int num_threads,
            DeviceContext* queue = nullptr);

  // Calls the kernel once with `num_threads` threads, and waits for the device.
  void Run();

  // Run in two steps: Enqueue does not wait. What the kernel needed until its
  // device was done is released afterwards.
  void Enqueue();
  void ReleaseTemporaries() { context_->ReleaseTemporaries(); }

  // Overwrites outputs and scratch memory, so that elements that Run does not
  // write are noticed: with NaNs, -1 and true, or, if `other`, with large
  // numbers and false.
  void Spoil(bool other);

  // Returns "", or the output or scratch memory that Run wrote before or after.
  std::string WrittenOutside() const;

  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }

 private:
  void BringInputs();
  // Returns memory for these elements between guard bytes.
  Tensor Guarded(DType dtype, const DDim& dims);

  const IsolatedOp& op_;
  PlaceKey place_;
  int num_threads_;
  std::unique_ptr<OpKernel> kernel_;
  std::unique_ptr<DeviceContext> own_queue_;
  DeviceContext* queue_;  // null on the CPU
  ArgTable arguments_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<Tensor*> pointers_;  // to inputs_ and outputs_
  Tensor scratch_;
  RunState run_;
  std::unique_ptr<OpKernelContext> context_;
};

}  // namespace sluice
