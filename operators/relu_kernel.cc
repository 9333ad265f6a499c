#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;

template <typename T>
class ReluKernel final : public UnaryKernel<T> {
 public:
  explicit ReluKernel(const OpKernelConstruction& /*construction*/)
      : UnaryKernel<T>(math::UnaryOp::kRelu) {}
};

template <typename T>
class ReluGradKernel final : public UnaryGradKernel<T> {
 public:
  explicit ReluGradKernel(const OpKernelConstruction& /*construction*/)
      : UnaryGradKernel<T>(math::UnaryOp::kRelu) {}
};

}  // namespace

REGISTER_OP_CPU_KERNEL(relu,
                       ReluKernel<float>,
                       ReluKernel<double>,
                       ReluKernel<platform::float16>,
                       ReluKernel<platform::bfloat16>);
REGISTER_OP_CPU_KERNEL(relu_grad,
                       ReluGradKernel<float>,
                       ReluGradKernel<double>,
                       ReluGradKernel<platform::float16>,
                       ReluGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
