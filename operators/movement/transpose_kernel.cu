#include "sluice/operators/math/device_walk.cuh"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class TransposeCUDAKernel final : public OpKernel {
 public:
  explicit TransposeCUDAKernel(const OpKernelConstruction& construction)
      : axes_(construction.Attr<std::vector<int64_t>>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    out_dims_ = preparation.query.outputs[0];
    const auto x = RowMajorStrides(preparation.query.inputs[0]);
    for (size_t i = 0; i < axes_.size(); ++i) {
      from_[i] = x[axes_[i]];
    }
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& output = context.AllocateOutput(0, out_dims_);
    if (output.numel() == 0) return;
    const T* x = context.Input(0).data<T>();
    T* out = output.data<T>();
    const DeviceWalk walk(out_dims_, from_, from_);
    ForEach(context.device_context<CUDADeviceContext>(), output.numel(),
            [=] __device__(int64_t i) { out[i] = x[walk.At(i).first]; });
  }

 private:
  std::vector<int64_t> axes_;
  DDim out_dims_;
  DeviceWalk::Strides from_{};
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(transpose, TransposeCUDAKernel<NumberAndBoolTypes>);

}  // namespace sluice
