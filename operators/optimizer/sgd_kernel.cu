#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice::operators {
namespace {

using framework::OpKernel;
using framework::OpKernelContext;
using framework::Tensor;
using platform::CUDADeviceContext;

template <typename T>
class SgdCUDAKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("Param");
    const T* param = input.data<T>();
    const T* grad = context.Input("Grad").data<T>();
    const T rate = context.Input("LearningRate").data<T>()[0];
    T* out =
        context.AllocateOutput("ParamOut", input.dims()).template data<T>();
    platform::ForEach(
        context.device_context<CUDADeviceContext>(), input.numel(),
        [=] __device__(int64_t i) { out[i] = param[i] - rate * grad[i]; });
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(sgd, SgdCUDAKernel<float>, SgdCUDAKernel<double>);

}  // namespace sluice::operators
