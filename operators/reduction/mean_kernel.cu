#include "sluice/operators/math/device_sum.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class MeanCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    plan_ = SumPlan(1, preparation.query.inputs[0].numel());
    preparation.scratch_bytes = plan_.scratch_bytes();
  }

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input(0).data<T>();
    T* out = context.AllocateOutput(0, DDim()).data<T>();
    const auto count = static_cast<double>(plan_.terms);
    Sum(
        context.device_context<CUDADeviceContext>(), plan_, context.scratch(),
        [=] __device__(int64_t /*output*/, int64_t i) {
          return static_cast<double>(x[i]);
        },
        [=] __device__(int64_t /*output*/, double sum) {
          *out = static_cast<T>(sum / count);  // NaN if empty
        });
  }

 private:
  SumPlan plan_;
};

template <typename T>
class MeanGradCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const T* grad = context.Input(1).data<T>();
    T* x_grad = context.AllocateOutput(0, x_dims_).data<T>();
    const int64_t count = x_dims_.numel();
    ForEach(context.device_context<CUDADeviceContext>(), count,
            [=] __device__(int64_t i) {
              x_grad[i] = *grad / static_cast<T>(count);
            });
  }

 private:
  DDim x_dims_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(mean, MeanCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(mean_grad, MeanGradCUDAKernel<FloatTypes>);

}  // namespace sluice
