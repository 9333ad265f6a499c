// The kernels for a single rank: outputs equal the inputs.
#include "sluice/operators/collective/collective_kernel.h"

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

class OneRankKernel : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_.assign(preparation.query.outputs.begin(),
                 preparation.query.outputs.end());
  }

  void Compute(OpKernelContext& context) const override {
    for (int i = 0; i < static_cast<int>(dims_.size()); ++i) {
      Tensor& out = context.AllocateOutput(i, dims_[i]);
      if (out.numel() == 0) continue;
      const void* from = context.Input(i).raw_data();
      void* to = out.raw_data();
      if (from != to) CopyBytes(from, to, out.bytes());
    }
  }

 private:
  std::vector<DDim> dims_;
};

class OneRankReduceKernel final : public OneRankKernel {
 public:
  static constexpr auto kDTypes = kReducedDTypes;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(c_allreduce_sum,
                       TakenWhen<&OneRank>,
                       OneRankReduceKernel);
REGISTER_OP_CPU_KERNEL(c_allreduce_max,
                       TakenWhen<&OneRank>,
                       OneRankReduceKernel);
REGISTER_OP_CPU_KERNEL(c_broadcast, TakenWhen<&OneRank>, OneRankKernel);
REGISTER_OP_CPU_KERNEL(c_allgather, TakenWhen<&OneRank>, OneRankKernel);
REGISTER_OP_CPU_KERNEL(c_reducescatter,
                       TakenWhen<&OneRank>,
                       OneRankReduceKernel);
REGISTER_OP_CPU_KERNEL(barrier, TakenWhen<&OneRank>, OneRankKernel);

}  // namespace sluice
