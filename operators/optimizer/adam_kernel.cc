#include <cmath>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/optimizer/optimizer_steps.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators {
namespace {

using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

constexpr int64_t kGrain = 1 << 13;

template <typename T>
class AdamKernel final : public OpKernel {
 public:
  explicit AdamKernel(const OpKernelConstruction& construction)
      : beta1_(construction.Attr<double>("beta1")),
        beta2_(construction.Attr<double>("beta2")),
        epsilon_(construction.Attr<double>("epsilon")) {}

  void Compute(OpKernelContext& context) const override {
    const double power1 = context.Input("Beta1Pow").data<T>()[0];
    const double power2 = context.Input("Beta2Pow").data<T>()[0];
    const double rate = context.Input("LearningRate").data<T>()[0];
    const Tensor& param = context.Input("Param");
    const auto output = [&](const char* name) {
      return context.AllocateOutput(name, param.dims()).template data<T>();
    };
    // m / (sqrt(v) + epsilon), multiplied by sqrt(1 - power2).
    const double correction = std::sqrt(1 - power2);
    const math::AdamStep<T> step{
        .param = param.data<T>(),
        .grad = context.Input("Grad").data<T>(),
        .moment1 = context.Input("Moment1").data<T>(),
        .moment2 = context.Input("Moment2").data<T>(),
        .param_out = output("ParamOut"),
        .moment1_out = output("Moment1Out"),
        .moment2_out = output("Moment2Out"),
        .rate = static_cast<T>(rate * correction / (1 - power1)),
        .beta1 = static_cast<T>(beta1_),
        .rest1 = static_cast<T>(1 - beta1_),
        .beta2 = static_cast<T>(beta2_),
        .rest2 = static_cast<T>(1 - beta2_),
        .epsilon = static_cast<T>(epsilon_ * correction)};
    platform::ParallelFor(
        param.numel(), kGrain,
        [&](int64_t begin, int64_t end) { step.Run(begin, end); });
    context.AllocateOutput("Beta1PowOut", {1}).template data<T>()[0] =
        static_cast<T>(power1 * beta1_);
    context.AllocateOutput("Beta2PowOut", {1}).template data<T>()[0] =
        static_cast<T>(power2 * beta2_);
  }

 private:
  double beta1_;
  double beta2_;
  double epsilon_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(adam, AdamKernel<float>, AdamKernel<double>);

}  // namespace sluice::operators
