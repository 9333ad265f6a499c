#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/chain/chain_steps.h"

namespace sluice::operators {
namespace {

using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

template <typename T>
class FusedElementwiseKernel final : public OpKernel {
 public:
  explicit FusedElementwiseKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

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
  math::Chain<T> chain_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(fused_elementwise,
                       FusedElementwiseKernel<float>,
                       FusedElementwiseKernel<double>,
                       FusedElementwiseKernel<platform::float16>,
                       FusedElementwiseKernel<platform::bfloat16>);

}  // namespace sluice::operators
