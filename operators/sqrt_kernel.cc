#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;

template <typename T>
class SqrtKernel final : public UnaryKernel<T> {
 public:
  explicit SqrtKernel(const OpKernelConstruction& /*construction*/)
      : UnaryKernel<T>(math::UnaryOp::kSqrt) {}
};

template <typename T>
class SqrtGradKernel final : public UnaryGradKernel<T> {
 public:
  explicit SqrtGradKernel(const OpKernelConstruction& /*construction*/)
      : UnaryGradKernel<T>(math::UnaryOp::kSqrt) {}
};

}  // namespace

REGISTER_OP_CPU_KERNEL(sqrt,
                       SqrtKernel<float>,
                       SqrtKernel<double>,
                       SqrtKernel<platform::float16>,
                       SqrtKernel<platform::bfloat16>);
REGISTER_OP_CPU_KERNEL(sqrt_grad,
                       SqrtGradKernel<float>,
                       SqrtGradKernel<double>,
                       SqrtGradKernel<platform::float16>,
                       SqrtGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
