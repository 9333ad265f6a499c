// The kernels for a single rank: outputs equal the inputs.
#include <vector>

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/collective/collective_kernel.h"
#include "sluice/platform/cuda_device_context.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelTraits;
using framework::Tensor;

class OneRankCUDAKernel : public framework::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Prepare(framework::KernelPreparation& preparation) override {
    dims_.assign(preparation.query.outputs.begin(),
                 preparation.query.outputs.end());
  }

  void Compute(framework::OpKernelContext& context) const override {
    for (int i = 0; i < static_cast<int>(dims_.size()); ++i) {
      const void* from = context.Input(i).raw_data();
      Tensor& out = context.AllocateOutput(i, dims_[i]);
      void* to = out.raw_data();
      if (out.numel() == 0 || from == to) continue;
      context.device_context().CopyOnDevice(to, from, out.bytes());
    }
  }

 private:
  std::vector<DDim> dims_;
};

class OneRankReduceCUDAKernel final : public OneRankCUDAKernel {
 public:
  static constexpr auto kDTypes = kReducedDTypes;
  using OneRankCUDAKernel::OneRankCUDAKernel;
};

KernelTraits Traits() {
  return KernelTraits().When(&OneRank);
}

}  // namespace

REGISTER_OP_KERNEL(c_allreduce_sum,
                   PLAIN,
                   CUDAPlace,
                   plain,
                   Traits(),
                   OneRankReduceCUDAKernel);
REGISTER_OP_KERNEL(c_allreduce_max,
                   PLAIN,
                   CUDAPlace,
                   plain,
                   Traits(),
                   OneRankReduceCUDAKernel);
REGISTER_OP_KERNEL(
    c_broadcast, PLAIN, CUDAPlace, plain, Traits(), OneRankCUDAKernel);
REGISTER_OP_KERNEL(
    c_allgather, PLAIN, CUDAPlace, plain, Traits(), OneRankCUDAKernel);
REGISTER_OP_KERNEL(c_reducescatter,
                   PLAIN,
                   CUDAPlace,
                   plain,
                   Traits(),
                   OneRankReduceCUDAKernel);
REGISTER_OP_KERNEL(
    barrier, PLAIN, CUDAPlace, plain, Traits(), OneRankCUDAKernel);

}  // namespace sluice::operators
