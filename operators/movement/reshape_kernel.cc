#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

class ReshapeKernel final : public CopyKernel<0> {
  using CopyKernel<0>::CopyKernel;
};

// Input 0 is X, which only provides the shape.
template <typename T>
class ReshapeGradKernel final : public CopyKernel<1> {
  using CopyKernel<1>::CopyKernel;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(reshape, ReshapeKernel);
REGISTER_OP_CPU_KERNEL(reshape_grad, ReshapeGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
