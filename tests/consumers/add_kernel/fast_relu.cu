#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/cuda/launch.h"

namespace my_kernels {

using sluice::CUDADeviceContext;
using sluice::KernelTraits;
using sluice::OpKernel;
using sluice::OpKernelContext;
using sluice::Tensor;

template <typename T>
class FastReluCuda final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("X");
    const T* x = input.data<T>();
    T* out = context.AllocateOutput("Out", input.dims()).template data<T>();
    sluice::ForEach(
        context.device_context<CUDADeviceContext>(), input.numel(),
        [=] __device__(int64_t i) { out[i] = x[i] <= 0 ? T{0} : x[i]; });
  }
};

REGISTER_OP_KERNEL(relu,
                   MINE,
                   CUDAPlace,
                   fast,
                   KernelTraits(),
                   FastReluCuda<float>,
                   FastReluCuda<double>);

}  // namespace my_kernels
