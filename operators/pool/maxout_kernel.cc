#include "sluice/operators/math/pool/maxouting.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename DeviceContext, typename T>
class MaxOutKernel final : public OpKernel {
 public:
  explicit MaxOutKernel(const OpKernelConstruction& construction)
      : groups_(static_cast<int>(construction.Attr<int64_t>("groups"))) {}

  void Prepare(KernelPreparation& preparation) override {
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    MaxOutFunctor<DeviceContext, T>()(
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
    MaxOutGradFunctor<DeviceContext, T>()(
        context.device_context<DeviceContext>(), x, context.Input(1),
        &context.AllocateOutput(0, x.dims()), groups_);
  }

 private:
  int groups_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(maxout,
                       MaxOutKernel<CPUDeviceContext, FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(maxout_grad,
                       MaxOutGradKernel<CPUDeviceContext, FloatAndHalfTypes>);

}  // namespace sluice
