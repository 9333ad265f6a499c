#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/device_walk.cuh"
#include "sluice/operators/math/strided_copy.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using math::DeviceWalk;
using platform::CUDADeviceContext;

template <typename T>
class TransposeCUDAKernel final : public OpKernel {
 public:
  explicit TransposeCUDAKernel(const OpKernelConstruction& construction)
      : axes_(construction.Attr<std::vector<int64_t>>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    out_dims_ = preparation.query.outputs[0];
    const auto x = math::RowMajorStrides(preparation.query.inputs[0]);
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
    platform::ForEach(
        context.device_context<CUDADeviceContext>(), output.numel(),
        [=] __device__(int64_t i) { out[i] = x[walk.At(i).first]; });
  }

 private:
  std::vector<int64_t> axes_;
  DDim out_dims_;
  DeviceWalk::Strides from_{};
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(transpose,
                        TransposeCUDAKernel<float>,
                        TransposeCUDAKernel<double>,
                        TransposeCUDAKernel<platform::float16>,
                        TransposeCUDAKernel<platform::bfloat16>,
                        TransposeCUDAKernel<int8_t>,
                        TransposeCUDAKernel<uint8_t>,
                        TransposeCUDAKernel<int32_t>,
                        TransposeCUDAKernel<int64_t>,
                        TransposeCUDAKernel<bool>);

}  // namespace sluice::operators
