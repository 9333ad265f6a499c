#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/optimizer/optimizer_steps.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators {
namespace {

using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

constexpr int64_t kMomentumGrain = 1 << 14;

template <typename T>
class MomentumKernel final : public OpKernel {
 public:
  explicit MomentumKernel(const OpKernelConstruction& construction)
      : mu_(static_cast<T>(construction.Attr<double>("mu"))),
        nesterov_(construction.Attr<bool>("use_nesterov")) {
    if (construction.Attr<std::string>("regularization_method") == "l2_decay") {
      decay_ =
          static_cast<T>(construction.Attr<double>("regularization_coeff"));
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& param = context.Input("Param");
    Tensor& out = context.AllocateOutput("ParamOut", param.dims());
    Tensor& velocity = context.AllocateOutput("VelocityOut", param.dims());
    const math::MomentumStep<T> step{
        .param = param.data<T>(),
        .grad = context.Input("Grad").data<T>(),
        .velocity = context.Input("Velocity").data<T>(),
        .param_out = out.data<T>(),
        .velocity_out = velocity.data<T>(),
        .rate = context.Input("LearningRate").data<T>()[0],
        .mu = mu_,
        .decay = decay_,
        .nesterov = nesterov_};
    platform::ParallelFor(
        param.numel(), kMomentumGrain,
        [&](int64_t begin, int64_t end) { step.Run(begin, end); });
  }

 private:
  T mu_;
  T decay_ = 0;
  bool nesterov_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(momentum, MomentumKernel<float>, MomentumKernel<double>);

}  // namespace sluice::operators
