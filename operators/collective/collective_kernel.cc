#include "sluice/operators/collective/collective_kernel.h"

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void CopyOnHost(OpKernelContext& /*context*/,
                const void* from,
                void* to,
                size_t bytes) {
  CopyBytes(from, to, bytes);
}

using OneRankKernel = OneRankKernelBy<&CopyOnHost>;

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
