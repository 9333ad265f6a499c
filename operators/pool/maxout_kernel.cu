#include "sluice/operators/math/pool/maxouting.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class MaxOutCUDAKernel final : public OpKernel {
 public:
  explicit MaxOutCUDAKernel(const OpKernelConstruction& construction)
      : groups_(static_cast<int>(construction.Attr<int64_t>("groups"))) {}

  void Prepare(KernelPreparation& preparation) override {
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    MaxOutFunctor<CUDADeviceContext, T>()(
        context.device_context<CUDADeviceContext>(), context.Input(0),
        &context.AllocateOutput(0, out_dims_), groups_);
  }

 private:
  int groups_;
  DDim out_dims_;
};

template <typename T>
class MaxOutGradCUDAKernel final : public OpKernel {
 public:
  explicit MaxOutGradCUDAKernel(const OpKernelConstruction& construction)
      : groups_(static_cast<int>(construction.Attr<int64_t>("groups"))) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    MaxOutGradFunctor<CUDADeviceContext, T>()(
        context.device_context<CUDADeviceContext>(), input, context.Input(1),
        &context.AllocateOutput(0, input.dims()), groups_);
  }

 private:
  int groups_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(maxout, MaxOutCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(maxout_grad, MaxOutGradCUDAKernel<FloatTypes>);

}  // namespace sluice
