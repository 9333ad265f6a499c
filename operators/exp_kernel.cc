#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;

template <typename T>
class ExpKernel final : public UnaryKernel<T> {
 public:
  explicit ExpKernel(const OpKernelConstruction& /*construction*/)
      : UnaryKernel<T>(math::UnaryOp::kExp) {}
};

template <typename T>
class ExpGradKernel final : public UnaryGradKernel<T> {
 public:
  explicit ExpGradKernel(const OpKernelConstruction& /*construction*/)
      : UnaryGradKernel<T>(math::UnaryOp::kExp) {}
};

}  // namespace

REGISTER_OP_CPU_KERNEL(exp,
                       ExpKernel<float>,
                       ExpKernel<double>,
                       ExpKernel<platform::float16>,
                       ExpKernel<platform::bfloat16>);
REGISTER_OP_CPU_KERNEL(exp_grad,
                       ExpGradKernel<float>,
                       ExpGradKernel<double>,
                       ExpGradKernel<platform::float16>,
                       ExpGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
