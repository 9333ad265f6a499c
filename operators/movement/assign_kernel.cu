#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/cuda_device_context.h"

namespace sluice::operators {
namespace {

using framework::OpKernel;
using framework::OpKernelContext;
using framework::Tensor;

template <typename T>
class AssignCUDAKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  // Nothing is copied if Out is an alias of X.
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0 || out.data<T>() == x.data<T>()) return;
    context.device_context().CopyOnDevice(out.data<T>(), x.data<T>(),
                                          out.bytes());
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(assign,
                        AssignCUDAKernel<float>,
                        AssignCUDAKernel<double>,
                        AssignCUDAKernel<platform::float16>,
                        AssignCUDAKernel<platform::bfloat16>,
                        AssignCUDAKernel<int8_t>,
                        AssignCUDAKernel<uint8_t>,
                        AssignCUDAKernel<int32_t>,
                        AssignCUDAKernel<int64_t>,
                        AssignCUDAKernel<bool>);

}  // namespace sluice::operators
