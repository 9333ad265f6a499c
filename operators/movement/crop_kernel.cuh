#pragma once

#include "sluice/operators/math/device_walk.cuh"
#include "sluice/operators/movement/crop_kernel.h"

namespace sluice::operators {

// X@GRAD = Out@GRAD inside the box, 0 elsewhere.
template <typename T>
class CropGradKernel<platform::CUDADeviceContext, T> final
    : public framework::OpKernel {
 public:
  explicit CropGradKernel(const framework::OpKernelConstruction& construction)
      : box_(construction) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    const framework::KernelQuery& query = preparation.query;
    box_.Prepare(query.inputs[0], query.inputs.back());
  }

  void Compute(framework::OpKernelContext& context) const override {
    const auto& device = context.device_context<platform::CUDADeviceContext>();
    const int64_t first = box_.First(context);
    framework::Tensor& output = context.AllocateOutput(0, box_.x_dims());
    if (output.numel() == 0) return;
    platform::FillZero(device, output.data<T>(), output.bytes());
    if (box_.dims().numel() == 0) return;
    const T* grad = context.Input("Out@GRAD").data<T>();
    T* out = output.data<T>() + first;
    const math::DeviceWalk walk(box_.dims(), box_.x_strides(), box_.strides());
    platform::ForEach(device, box_.dims().numel(), [=] __device__(int64_t i) {
      out[walk.At(i).first] = grad[i];
    });
  }

 private:
  CropBox box_;
};

}  // namespace sluice::operators
