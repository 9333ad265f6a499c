#pragma once

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/broadcast_binary.h"

namespace sluice::operators {

// Out = X op Y. Each op names a kernel of its own that fixes `op`.
template <typename T>
class ElementwiseKernel : public framework::OpKernel {
 public:
  ElementwiseKernel(const framework::OpKernelConstruction& construction,
                    math::BinaryOp op)
      : op_(op), axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    const framework::DDim& x = preparation.query.inputs[0];
    const framework::DDim& y = preparation.query.inputs[1];
    same_shape_ = x == y;
    plan_ = math::PlanBroadcast(x, y, axis_);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(framework::OpKernelContext& context) const override {
    const T* x = context.Input(0).template data<T>();
    const T* y = context.Input(1).template data<T>();
    framework::Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    if (same_shape_) {
      math::BinarySame(op_, x, y, out.numel(), out.data<T>());
    } else {
      math::BinaryBroadcast(op_, plan_, x, y, out.data<T>());
    }
  }

 private:
  math::BinaryOp op_;
  int64_t axis_;
  bool same_shape_ = false;
  math::BroadcastPlan plan_;
  framework::DDim out_dims_;
};

}  // namespace sluice::operators
