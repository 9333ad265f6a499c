#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/cuda/launch.h"

namespace my_ops {

using sluice::CUDADeviceContext;
using sluice::OpKernel;
using sluice::OpKernelConstruction;
using sluice::OpKernelContext;
using sluice::Tensor;

template <typename T>
class SteepReluCUDAKernel final : public OpKernel {
 public:
  explicit SteepReluCUDAKernel(const OpKernelConstruction& construction)
      : slope_(static_cast<T>(construction.Attr<double>("slope"))) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("X");
    const T* x = input.data<T>();
    T* out = context.AllocateOutput("Out", input.dims()).template data<T>();
    const T slope = slope_;
    sluice::ForEach(
        context.device_context<CUDADeviceContext>(), input.numel(),
        [=] __device__(int64_t i) { out[i] = x[i] > 0 ? x[i] : slope * x[i]; });
  }

 private:
  T slope_;
};

REGISTER_OP_CUDA_KERNEL(steep_relu,
                        SteepReluCUDAKernel<float>,
                        SteepReluCUDAKernel<double>);

}  // namespace my_ops
