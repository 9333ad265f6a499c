#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;

template <typename T>
class LogKernel final : public UnaryKernel<T> {
 public:
  explicit LogKernel(const OpKernelConstruction& /*construction*/)
      : UnaryKernel<T>(math::UnaryOp::kLog) {}
};

template <typename T>
class LogGradKernel final : public UnaryGradKernel<T> {
 public:
  explicit LogGradKernel(const OpKernelConstruction& /*construction*/)
      : UnaryGradKernel<T>(math::UnaryOp::kLog) {}
};

}  // namespace

REGISTER_OP_CPU_KERNEL(log,
                       LogKernel<float>,
                       LogKernel<double>,
                       LogKernel<platform::float16>,
                       LogKernel<platform::bfloat16>);
REGISTER_OP_CPU_KERNEL(log_grad,
                       LogGradKernel<float>,
                       LogGradKernel<double>,
                       LogGradKernel<platform::float16>,
                       LogGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
