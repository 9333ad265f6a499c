#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class FusedElementwiseKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    chain_ = ReadChain<T>(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    const auto operands = ChainOperandsOf<T>(context, 1, chain_.operands());
    chain_.Run(x.data<T>(), operands, out.numel(), out.data<T>());
  }

 private:
  Chain<T> chain_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(fused_elementwise,
                       FusedElementwiseKernel<FloatAndHalfTypes>);

}  // namespace sluice
