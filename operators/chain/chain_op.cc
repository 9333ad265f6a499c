#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void FusedElementwiseShape(InferShapeContext& context) {
  context.Require(!context.Attr<std::vector<std::string>>("steps").empty(),
                  "fused_elementwise.steps", "steps is empty");
  const ShapeHandle x = context.input("X");
  CheckChain(context, x);
  context.SetOutput("Out", x);
}

void FusedElementwiseSchema(OpSchema& op) {
  op.Doc(
      "Element-wise ops one after the other, in one pass over X: `steps` has "
      "their names.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "What the first step reads, of any shape.");
  op.Output("Out", "T", "What the last one writes, of the same shape.");
  ChainArguments(op);
  op.InferShape(FusedElementwiseShape).Internal();
}

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

// An operation for each step.
KernelWork ChainWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  work.flops *= static_cast<double>(StepsOf(query.op).size());
  return work;
}

}  // namespace

REGISTER_OPERATOR(fused_elementwise, FusedElementwiseSchema);
REGISTER_OP_CPU_KERNEL(fused_elementwise,
                       EstimatedBy<&ChainWork>,
                       FusedElementwiseKernel<FloatAndHalfTypes>);

}  // namespace sluice
