#include "sluice/operators/registration.h"
#include "sluice/operators/unary/clip_bounds.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

template <typename T>
class ClipCUDAKernel final : public OpKernel {
 public:
  explicit ClipCUDAKernel(const OpKernelConstruction& construction)
      : bounds_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("X");
    const T* x = input.data<T>();
    T* out = context.AllocateOutput("Out", input.dims()).template data<T>();
    const T min = bounds_.min;
    const T max = bounds_.max;
    ForEach(context.device_context<CUDADeviceContext>(), input.numel(),
            [=] __device__(int64_t i) {
              const T above = x[i] < min ? min : x[i];
              out[i] = above > max ? max : above;
            });
  }

 private:
  ClipBounds<T> bounds_;
};

template <typename T>
class ClipGradCUDAKernel final : public OpKernel {
 public:
  explicit ClipGradCUDAKernel(const OpKernelConstruction& construction)
      : bounds_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("X");
    const T* x = input.data<T>();
    const T* grad = context.Input("Out@GRAD").template data<T>();
    T* x_grad =
        context.AllocateOutput("X@GRAD", input.dims()).template data<T>();
    const T min = bounds_.min;
    const T max = bounds_.max;
    ForEach(context.device_context<CUDADeviceContext>(), input.numel(),
            [=] __device__(int64_t i) {
              const bool cut = x[i] < min || x[i] > max;
              x_grad[i] = cut ? T{0} : grad[i];
            });
  }

 private:
  ClipBounds<T> bounds_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(clip, ClipCUDAKernel<FloatAndIntegerTypes>);
REGISTER_OP_CUDA_KERNEL(clip_grad, ClipGradCUDAKernel<FloatTypes>);

}  // namespace sluice
