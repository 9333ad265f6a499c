#pragma once

#include "sluice/framework/op/op_kernel.h"

namespace sluice {

// A kernel for which no values of its arguments are wrong. Where such kernels
// end a plan, they change persistable variables in place, since no failure can
// follow (framework/plan/plan_commit.h).
class CommitKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  // Whether Compute raises nothing: it checks no values, waits for nothing but
  // its own threads, and allocates nothing but outputs that are not there. Then
  // it also may write an output of OpSchema::Update to the memory of the input.
  // If it raises all the same, a failed run leaves a half-written state.
  virtual bool CannotFail() const = 0;
};

}  // namespace sluice
