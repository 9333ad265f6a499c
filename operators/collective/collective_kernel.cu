#include "sluice/operators/collective/collective_kernel.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void CopyOnDevice(OpKernelContext& context,
                  const void* from,
                  void* to,
                  size_t bytes) {
  context.device_context().CopyOnDevice(to, from, bytes);
}

using OneRankCUDAKernel = OneRankKernelBy<&CopyOnDevice>;

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
