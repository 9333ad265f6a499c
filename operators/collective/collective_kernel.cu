// The kernels for a single rank: outputs equal the inputs.

#include "sluice/operators/collective/collective_kernel.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

class OneRankCUDAKernel : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_.assign(preparation.query.outputs.begin(),
                 preparation.query.outputs.end());
  }

  void Compute(OpKernelContext& context) const override {
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
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(c_allreduce_sum,
                        TakenWhen<&OneRank>,
                        OneRankReduceCUDAKernel);
REGISTER_OP_CUDA_KERNEL(c_allreduce_max,
                        TakenWhen<&OneRank>,
                        OneRankReduceCUDAKernel);
REGISTER_OP_CUDA_KERNEL(c_broadcast, TakenWhen<&OneRank>, OneRankCUDAKernel);
REGISTER_OP_CUDA_KERNEL(c_allgather, TakenWhen<&OneRank>, OneRankCUDAKernel);
REGISTER_OP_CUDA_KERNEL(c_reducescatter,
                        TakenWhen<&OneRank>,
                        OneRankReduceCUDAKernel);
REGISTER_OP_CUDA_KERNEL(barrier, TakenWhen<&OneRank>, OneRankCUDAKernel);

}  // namespace sluice
