#include <string>

#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice::operators {
namespace {

using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using platform::CUDADeviceContext;

template <typename T>
class MomentumCUDAKernel final : public OpKernel {
 public:
  explicit MomentumCUDAKernel(const OpKernelConstruction& construction)
      : mu_(static_cast<T>(construction.Attr<double>("mu"))),
        nesterov_(construction.Attr<bool>("use_nesterov")) {
    if (construction.Attr<std::string>("regularization_method") == "l2_decay") {
      decay_ =
          static_cast<T>(construction.Attr<double>("regularization_coeff"));
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("Param");
    const T* param = input.data<T>();
    const T* grad = context.Input("Grad").data<T>();
    const T* velocity = context.Input("Velocity").data<T>();
    const auto output = [&](const char* name) {
      return context.AllocateOutput(name, input.dims()).template data<T>();
    };
    T* param_out = output("ParamOut");
    T* velocity_out = output("VelocityOut");
    const T rate = context.Input("LearningRate").data<T>()[0];
    const T mu = mu_;
    const T decay = decay_;
    const bool nesterov = nesterov_;
    platform::ForEach(
        context.device_context<CUDADeviceContext>(), input.numel(),
        [=] __device__(int64_t i) {
          const T pull = grad[i] + decay * param[i];
          const T next = mu * velocity[i] + pull;
          velocity_out[i] = next;
          param_out[i] = param[i] - rate * (nesterov ? pull + mu * next : next);
        });
  }

 private:
  T mu_;
  T decay_ = 0;
  bool nesterov_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(momentum,
                        MomentumCUDAKernel<float>,
                        MomentumCUDAKernel<double>);

}  // namespace sluice::operators
