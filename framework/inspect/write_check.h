#pragma once

#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/export.h"

namespace sluice {

// Finds kernels that leave elements of their outputs as they were. Outputs are
// filled with kPoison (memory/testing.h) before each call; the first that has
// some of it left afterwards raises Internal. Not checked: outputs that share
// memory with an input, and those that the kernel allocates itself. Integers of
// fewer than 32 bits count as left where 8 bytes in sequence are.
class SLUICE_API WriteCheck : public RunObserver {
 public:
  bool enters_blocks() const override { return true; }
  void Before(const Plan& plan,
              const Instruction& instruction,
              const Tensor* tensors) override;
  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override;
};

// Returns the tensor, or a copy of one on a device.
Tensor OnHost(const Tensor& tensor);

}  // namespace sluice
