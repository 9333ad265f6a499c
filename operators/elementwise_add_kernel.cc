#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/elementwise_grad_kernel.h"
#include "sluice/operators/elementwise_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;
using math::BinaryOp;

template <typename T>
class ElementwiseAddKernel final : public ElementwiseKernel<T> {
 public:
  explicit ElementwiseAddKernel(const OpKernelConstruction& construction)
      : ElementwiseKernel<T>(construction, BinaryOp::kAdd) {}
};

template <typename T>
class ElementwiseAddGradKernel final : public ElementwiseLinearGradKernel<T> {
 public:
  explicit ElementwiseAddGradKernel(const OpKernelConstruction& construction)
      : ElementwiseLinearGradKernel<T>(construction, /*negative_y=*/false) {}
};

}  // namespace

REGISTER_OP_CPU_KERNEL(elementwise_add,
                       ElementwiseAddKernel<float>,
                       ElementwiseAddKernel<double>,
                       ElementwiseAddKernel<platform::float16>,
                       ElementwiseAddKernel<platform::bfloat16>,
                       ElementwiseAddKernel<int8_t>,
                       ElementwiseAddKernel<uint8_t>,
                       ElementwiseAddKernel<int32_t>,
                       ElementwiseAddKernel<int64_t>);
REGISTER_OP_CPU_KERNEL(elementwise_add_grad,
                       ElementwiseAddGradKernel<float>,
                       ElementwiseAddGradKernel<double>,
                       ElementwiseAddGradKernel<platform::float16>,
                       ElementwiseAddGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
