#pragma once

#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice::operators {

// Out = Function::Of(X) on CUDA.
template <typename T, typename Function>
class UnaryCUDAKernel final : public framework::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(framework::OpKernelContext& context) const override {
    const framework::Tensor& input = context.Input(0);
    const T* x = input.data<T>();
    T* out = context.AllocateOutput(0, input.dims()).template data<T>();
    platform::ForEach(
        context.device_context<platform::CUDADeviceContext>(), input.numel(),
        [=] __device__(int64_t i) { out[i] = Function::Of(x[i]); });
  }
};

// X@GRAD = Function::Gradient(input 0, Out@GRAD); input 0 is what the
// derivative is written with.
template <typename T, typename Function>
class UnaryGradCUDAKernel final : public framework::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(framework::OpKernelContext& context) const override {
    const framework::Tensor& input = context.Input(0);
    const T* seen = input.data<T>();
    const T* grad = context.Input(1).template data<T>();
    T* x_grad = context.AllocateOutput(0, input.dims()).template data<T>();
    platform::ForEach(context.device_context<platform::CUDADeviceContext>(),
                      input.numel(), [=] __device__(int64_t i) {
                        x_grad[i] = Function::Gradient(seen[i], grad[i]);
                      });
  }
};

}  // namespace sluice::operators
