#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/elementwise_grad_kernel.h"
#include "sluice/operators/elementwise_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;
using math::BinaryOp;

template <typename T>
class ElementwiseSubKernel final : public ElementwiseKernel<T> {
 public:
  explicit ElementwiseSubKernel(const OpKernelConstruction& construction)
      : ElementwiseKernel<T>(construction, BinaryOp::kSub) {}
};

template <typename T>
class ElementwiseSubGradKernel final : public ElementwiseLinearGradKernel<T> {
 public:
  explicit ElementwiseSubGradKernel(const OpKernelConstruction& construction)
      : ElementwiseLinearGradKernel<T>(construction, /*negative_y=*/true) {}
};

}  // namespace

REGISTER_OP_CPU_KERNEL(elementwise_sub,
                       ElementwiseSubKernel<float>,
                       ElementwiseSubKernel<double>,
                       ElementwiseSubKernel<platform::float16>,
                       ElementwiseSubKernel<platform::bfloat16>,
                       ElementwiseSubKernel<int8_t>,
                       ElementwiseSubKernel<uint8_t>,
                       ElementwiseSubKernel<int32_t>,
                       ElementwiseSubKernel<int64_t>);
REGISTER_OP_CPU_KERNEL(elementwise_sub_grad,
                       ElementwiseSubGradKernel<float>,
                       ElementwiseSubGradKernel<double>,
                       ElementwiseSubGradKernel<platform::float16>,
                       ElementwiseSubGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
