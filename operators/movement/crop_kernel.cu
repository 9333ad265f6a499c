#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/device_walk.cuh"
#include "sluice/operators/movement/crop_kernel.cuh"

namespace sluice::operators {

using framework::KernelPreparation;
using framework::KernelQuery;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using math::DeviceWalk;
using platform::CUDADeviceContext;

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
    platform::ForEach(
        context.device_context<CUDADeviceContext>(), output.numel(),
        [=] __device__(int64_t i) { out[i] = x[walk.At(i).first]; });
  }

 private:
  CropBox box_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(crop,
                        CropCUDAKernel<float>,
                        CropCUDAKernel<double>,
                        CropCUDAKernel<platform::float16>,
                        CropCUDAKernel<platform::bfloat16>,
                        CropCUDAKernel<int8_t>,
                        CropCUDAKernel<uint8_t>,
                        CropCUDAKernel<int32_t>,
                        CropCUDAKernel<int64_t>,
                        CropCUDAKernel<bool>);
REGISTER_OP_CUDA_KERNEL(crop_grad,
                        CropGradKernel<CUDADeviceContext, float>,
                        CropGradKernel<CUDADeviceContext, double>,
                        CropGradKernel<CUDADeviceContext, platform::float16>,
                        CropGradKernel<CUDADeviceContext, platform::bfloat16>);

}  // namespace sluice::operators
