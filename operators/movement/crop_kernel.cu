#include "sluice/operators/math/device_walk.cuh"
#include "sluice/operators/movement/crop_kernel.cuh"
#include "sluice/operators/registration.h"

namespace sluice {

namespace {

template <typename T>
class CropCUDAKernel final : public OpKernel {
 public:
  explicit CropCUDAKernel(const OpKernelConstruction& construction)
      : box_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    box_.Prepare(query.inputs[0], query.outputs[0]);
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t first = box_.First(context);
    Tensor& output = context.AllocateOutput(0, box_.dims());
    if (output.numel() == 0) return;
    const T* x = context.Input(0).data<T>() + first;
    T* out = output.data<T>();
    const DeviceWalk walk(box_.dims(), box_.x_strides(), box_.strides());
    ForEach(context.device_context<CUDADeviceContext>(), output.numel(),
            [=] __device__(int64_t i) { out[i] = x[walk.At(i).first]; });
  }

 private:
  CropBox box_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(crop, CropCUDAKernel<NumberAndBoolTypes>);
REGISTER_OP_CUDA_KERNEL(crop_grad,
                        CropGradKernel<CUDADeviceContext, FloatAndHalfTypes>);

}  // namespace sluice
