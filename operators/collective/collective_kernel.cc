// The kernels for a single rank: outputs equal the inputs.
#include "sluice/operators/collective/collective_kernel.h"

#include <vector>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/strided_copy.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelTraits;
using framework::Tensor;

class OneRankKernel : public framework::OpKernel {
 public:
  explicit OneRankKernel(const framework::OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    dims_.assign(preparation.query.outputs.begin(),
                 preparation.query.outputs.end());
  }

  void Compute(framework::OpKernelContext& context) const override {
    for (int i = 0; i < static_cast<int>(dims_.size()); ++i) {
      Tensor& out = context.AllocateOutput(i, dims_[i]);
      if (out.numel() == 0) continue;
      const void* from = context.Input(i).raw_data();
      void* to = out.raw_data();
      if (from != to) math::CopyBytes(from, to, out.bytes());
    }
  }

 private:
  std::vector<DDim> dims_;
};

class OneRankReduceKernel final : public OneRankKernel {
 public:
  static constexpr auto kDTypes = kReducedDTypes;
  using OneRankKernel::OneRankKernel;
};

KernelTraits Traits() {
  return KernelTraits().When(&OneRank);
}

}  // namespace

REGISTER_OP_KERNEL(
    c_allreduce_sum, PLAIN, CPUPlace, plain, Traits(), OneRankReduceKernel);
REGISTER_OP_KERNEL(
    c_allreduce_max, PLAIN, CPUPlace, plain, Traits(), OneRankReduceKernel);
REGISTER_OP_KERNEL(
    c_broadcast, PLAIN, CPUPlace, plain, Traits(), OneRankKernel);
REGISTER_OP_KERNEL(
    c_allgather, PLAIN, CPUPlace, plain, Traits(), OneRankKernel);
REGISTER_OP_KERNEL(
    c_reducescatter, PLAIN, CPUPlace, plain, Traits(), OneRankReduceKernel);
REGISTER_OP_KERNEL(barrier, PLAIN, CPUPlace, plain, Traits(), OneRankKernel);

}  // namespace sluice::operators
