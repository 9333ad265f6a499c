#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;

template <typename T>
class SigmoidKernel final : public UnaryKernel<T> {
 public:
  explicit SigmoidKernel(const OpKernelConstruction& /*construction*/)
      : UnaryKernel<T>(math::UnaryOp::kSigmoid) {}
};

template <typename T>
class SigmoidGradKernel final : public UnaryGradKernel<T> {
 public:
  explicit SigmoidGradKernel(const OpKernelConstruction& /*construction*/)
      : UnaryGradKernel<T>(math::UnaryOp::kSigmoid) {}
};

}  // namespace

REGISTER_OP_CPU_KERNEL(sigmoid,
                       SigmoidKernel<float>,
                       SigmoidKernel<double>,
                       SigmoidKernel<platform::float16>,
                       SigmoidKernel<platform::bfloat16>);
REGISTER_OP_CPU_KERNEL(sigmoid_grad,
                       SigmoidGradKernel<float>,
                       SigmoidGradKernel<double>,
                       SigmoidGradKernel<platform::float16>,
                       SigmoidGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
