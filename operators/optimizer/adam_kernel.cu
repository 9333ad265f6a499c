#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice::operators {
namespace {

using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using platform::CUDADeviceContext;

template <typename T>
class AdamCUDAKernel final : public OpKernel {
 public:
  explicit AdamCUDAKernel(const OpKernelConstruction& construction)
      : beta1_(construction.Attr<double>("beta1")),
        beta2_(construction.Attr<double>("beta2")),
        epsilon_(construction.Attr<double>("epsilon")) {}

  void Prepare(KernelPreparation& preparation) override {
    preparation.scratch_bytes = 2 * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    CorrectBias(context);
    const T* corrected = static_cast<const T*>(context.scratch());
    const Tensor& input = context.Input("Param");
    const auto output = [&](const char* name) {
      return context.AllocateOutput(name, input.dims()).template data<T>();
    };
    const T* param = input.data<T>();
    const T* grad = context.Input("Grad").data<T>();
    const T* moment1 = context.Input("Moment1").data<T>();
    const T* moment2 = context.Input("Moment2").data<T>();
    T* param_out = output("ParamOut");
    T* moment1_out = output("Moment1Out");
    T* moment2_out = output("Moment2Out");
    const auto beta1 = static_cast<T>(beta1_), beta2 = static_cast<T>(beta2_);
    const auto rest1 = static_cast<T>(1 - beta1_);
    const auto rest2 = static_cast<T>(1 - beta2_);
    platform::ForEach(
        context.device_context<CUDADeviceContext>(), input.numel(),
        [=] __device__(int64_t i) {
          const T m = beta1 * moment1[i] + rest1 * grad[i];
          const T v = beta2 * moment2[i] + rest2 * grad[i] * grad[i];
          moment1_out[i] = m;
          moment2_out[i] = v;
          param_out[i] = param[i] - corrected[0] * m / (sqrt(v) + corrected[1]);
        });
  }

  // The rate and epsilon for moments that began as 0: m / (sqrt(v) + epsilon)
  // multiplied by sqrt(1 - power2). The powers lie on the device.
  void CorrectBias(OpKernelContext& context) const {
    T* corrected = static_cast<T*>(context.scratch());
    const double rate = context.Input("LearningRate").data<T>()[0];
    const T* power1 = context.Input("Beta1Pow").data<T>();
    const T* power2 = context.Input("Beta2Pow").data<T>();
    const double beta1 = beta1_, beta2 = beta2_, epsilon = epsilon_;
    T* power1_out = context.AllocateOutput("Beta1PowOut", {1}).data<T>();
    T* power2_out = context.AllocateOutput("Beta2PowOut", {1}).data<T>();
    platform::ForEach(context.device_context<CUDADeviceContext>(), 1,
                      [=] __device__(int64_t /*i*/) {
                        const double now1 = *power1, now2 = *power2;
                        const double root = sqrt(1 - now2);
                        corrected[0] = static_cast<T>(rate * root / (1 - now1));
                        corrected[1] = static_cast<T>(epsilon * root);
                        *power1_out = static_cast<T>(now1 * beta1);
                        *power2_out = static_cast<T>(now2 * beta2);
                      });
  }

 private:
  double beta1_;
  double beta2_;
  double epsilon_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(adam, AdamCUDAKernel<float>, AdamCUDAKernel<double>);

}  // namespace sluice::operators
