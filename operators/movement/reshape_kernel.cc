#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/movement/copy_kernel.h"

namespace sluice::operators {

namespace {

template <typename T>
class ReshapeKernel final : public CopyKernel<T, 0> {
  using CopyKernel<T, 0>::CopyKernel;
};

// X, which gives the shape only, comes first.
template <typename T>
class ReshapeGradKernel final : public CopyKernel<T, 1> {
  using CopyKernel<T, 1>::CopyKernel;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(reshape,
                       ReshapeKernel<float>,
                       ReshapeKernel<double>,
                       ReshapeKernel<platform::float16>,
                       ReshapeKernel<platform::bfloat16>,
                       ReshapeKernel<int8_t>,
                       ReshapeKernel<uint8_t>,
                       ReshapeKernel<int32_t>,
                       ReshapeKernel<int64_t>,
                       ReshapeKernel<bool>);
REGISTER_OP_CPU_KERNEL(reshape_grad,
                       ReshapeGradKernel<float>,
                       ReshapeGradKernel<double>,
                       ReshapeGradKernel<platform::float16>,
                       ReshapeGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
