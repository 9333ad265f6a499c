#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/optimizer/optimizer_steps.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators {
namespace {

using framework::OpKernel;
using framework::OpKernelContext;
using framework::Tensor;

constexpr int64_t kSGDGrain = 1 << 15;

template <typename T>
class SgdKernel final : public OpKernel {
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& context) const override {
    const Tensor& param = context.Input("Param");
    Tensor& out = context.AllocateOutput("ParamOut", param.dims());
    const math::SgdStep<T> step{
        .param = param.data<T>(),
        .grad = context.Input("Grad").data<T>(),
        .param_out = out.data<T>(),
        .rate = context.Input("LearningRate").data<T>()[0]};
    platform::ParallelFor(
        param.numel(), kSGDGrain,
        [&](int64_t begin, int64_t end) { step.Run(begin, end); });
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(sgd, SgdKernel<float>, SgdKernel<double>);

}  // namespace sluice::operators
