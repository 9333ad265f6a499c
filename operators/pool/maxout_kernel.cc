#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/pool/maxouting.h"

namespace sluice::operators {

using framework::DDim;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using platform::bfloat16;
using platform::CPUDeviceContext;
using platform::float16;

namespace {

template <typename DeviceContext, typename T>
class MaxOutKernel final : public OpKernel {
 public:
  explicit MaxOutKernel(const OpKernelConstruction& construction)
      : groups_(static_cast<int>(construction.Attr<int64_t>("groups"))) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    math::MaxOutFunctor<DeviceContext, T>()(
        context.device_context<DeviceContext>(), context.Input(0),
        &context.AllocateOutput(0, out_dims_), groups_);
  }

 private:
  int groups_;
  DDim out_dims_;
};

template <typename DeviceContext, typename T>
class MaxOutGradKernel final : public OpKernel {
 public:
  explicit MaxOutGradKernel(const OpKernelConstruction& construction)
      : groups_(static_cast<int>(construction.Attr<int64_t>("groups"))) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    math::MaxOutGradFunctor<DeviceContext, T>()(
        context.device_context<DeviceContext>(), x, context.Input(1),
        &context.AllocateOutput(0, x.dims()), groups_);
  }

 private:
  int groups_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(maxout,
                       MaxOutKernel<CPUDeviceContext, float>,
                       MaxOutKernel<CPUDeviceContext, double>,
                       MaxOutKernel<CPUDeviceContext, float16>,
                       MaxOutKernel<CPUDeviceContext, bfloat16>);
REGISTER_OP_CPU_KERNEL(maxout_grad,
                       MaxOutGradKernel<CPUDeviceContext, float>,
                       MaxOutGradKernel<CPUDeviceContext, double>,
                       MaxOutGradKernel<CPUDeviceContext, float16>,
                       MaxOutGradKernel<CPUDeviceContext, bfloat16>);

}  // namespace sluice::operators
