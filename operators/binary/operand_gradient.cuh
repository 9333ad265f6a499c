#pragma once

#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/device_sum.cuh"
#include "sluice/operators/registration.h"

namespace sluice {

// Maps each element of Out to its offsets in X and Y.
inline DeviceWalk WalkOperands(const DDim& x, const DDim& y, int64_t axis) {
  const BroadcastPlan plan = PlanBroadcast(x, y, axis);
  return {plan.rank, plan.sizes, plan.x_steps, plan.y_steps};
}

// The gradient of an operand that may be broadcast, on CUDA. It is computed
// from terms of the result's shape: it equals them, or it is a sum of them.
// Prepare plans it; it is immutable afterwards.
class OperandCUDAGradient {
 public:
  OperandCUDAGradient() = default;
  // The operand has shape `dims` and is aligned with dimension `axis` of `out`.
  OperandCUDAGradient(const DDim& dims, const DDim& out, int64_t axis)
      : dims_(dims), out_(out), repeated_(RepeatedAxes(dims, out, axis)) {
    plan_ = ReduceWalk::Plan(out, repeated_);
  }

  const DDim& dims() const { return dims_; }
  size_t scratch_bytes() const { return plan_.scratch_bytes(); }

  // term.At(i) is a device function that returns the term of element i of the
  // result. It is passed by value.
  template <typename T, typename Term>
  void Write(OpKernelContext& context, const Term& term, T* grad) const {
    const auto& device = context.device_context<CUDADeviceContext>();
    if (plan_.terms == 1) {
      ForEach(device, plan_.outputs,
              [=] __device__(int64_t i) { grad[i] = term.At(i); });
      return;
    }
    const ReduceWalk walk(out_, repeated_);
    Sum(
        device, plan_, context.scratch(),
        [=] __device__(int64_t output, int64_t i) -> double {
          return term.At(walk.At(output, i));
        },
        StoreSum<T>{grad});
  }

 private:
  DDim dims_;
  DDim out_;
  ReduceWalk::Axes repeated_{};
  SumPlan plan_;
};

}  // namespace sluice
