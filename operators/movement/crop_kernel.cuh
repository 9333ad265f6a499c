#pragma once

#include "sluice/operators/math/device_walk.cuh"
#include "sluice/operators/movement/crop_kernel.h"

namespace sluice {

// X@GRAD = Out@GRAD inside the box, 0 elsewhere.
template <typename T>
class CropGradKernel<CUDADeviceContext, T> final : public OpKernel {
 public:
  explicit CropGradKernel(const OpKernelConstruction& construction)
      : box_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    box_.Prepare(query.inputs[0], query.inputs.back());
  }

  void Compute(OpKernelContext& context) const override {
    const auto& device = context.device_context<CUDADeviceContext>();
    const int64_t first = box_.First(context);
    Tensor& output = context.AllocateOutput(0, box_.x_dims());
    if (output.numel() == 0) return;
    FillZero(device, output.data<T>(), output.bytes());
    if (box_.dims().numel() == 0) return;
    const T* grad = context.Input("Out@GRAD").data<T>();
    T* out = output.data<T>() + first;
    const DeviceWalk walk(box_.dims(), box_.x_strides(), box_.strides());
    ForEach(device, box_.dims().numel(),
            [=] __device__(int64_t i) { out[walk.At(i).first] = grad[i]; });
  }

 private:
  CropBox box_;
};

}  // namespace sluice
