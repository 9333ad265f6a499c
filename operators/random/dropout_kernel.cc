#include "sluice/operators/random/dropout_kernel.h"

#include "sluice/operators/math/random/random.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class DropoutKernel final : public OpKernel {
 public:
  explicit DropoutKernel(const OpKernelConstruction& construction)
      : settings_(construction),
        seed_(static_cast<uint64_t>(construction.Attr<int64_t>("seed"))),
        op_(static_cast<uint32_t>(construction.op_index())) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    Tensor& mask = context.AllocateOutput(1, x.dims());
    if (out.numel() == 0) return;
    Dropout({seed_, op_, context.step()},
            DropoutThreshold(settings_.probability),
            static_cast<T>(settings_.scale), out.numel(), x.data<T>(),
            out.data<T>(), mask.data<uint8_t>());
  }

 private:
  DropoutSettings settings_;
  uint64_t seed_;
  uint32_t op_;
};

template <typename T>
class DropoutGradKernel final : public OpKernel {
 public:
  explicit DropoutGradKernel(const OpKernelConstruction& construction)
      : settings_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& mask = context.Input(0);
    Tensor& grad = context.AllocateOutput(0, mask.dims());
    if (grad.numel() == 0) return;
    DropoutGrad(static_cast<T>(settings_.scale), grad.numel(),
                context.Input(1).data<T>(), mask.data<uint8_t>(),
                grad.data<T>());
  }

 private:
  DropoutSettings settings_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(dropout, DropoutKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(dropout_grad, DropoutGradKernel<FloatTypes>);

}  // namespace sluice
