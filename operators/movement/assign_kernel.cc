#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/movement/copy_kernel.h"

namespace sluice::operators {
namespace {

template <typename T>
class AssignKernel final : public CopyKernel<T, 0> {
  using CopyKernel<T, 0>::CopyKernel;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(assign,
                       AssignKernel<float>,
                       AssignKernel<double>,
                       AssignKernel<platform::float16>,
                       AssignKernel<platform::bfloat16>,
                       AssignKernel<int8_t>,
                       AssignKernel<uint8_t>,
                       AssignKernel<int32_t>,
                       AssignKernel<int64_t>,
                       AssignKernel<bool>);

}  // namespace sluice::operators
