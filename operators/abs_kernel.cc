#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;

template <typename T>
class AbsKernel final : public UnaryKernel<T> {
 public:
  explicit AbsKernel(const OpKernelConstruction& /*construction*/)
      : UnaryKernel<T>(math::UnaryOp::kAbs) {}
};

template <typename T>
class AbsGradKernel final : public UnaryGradKernel<T> {
 public:
  explicit AbsGradKernel(const OpKernelConstruction& /*construction*/)
      : UnaryGradKernel<T>(math::UnaryOp::kAbs) {}
};

}  // namespace

REGISTER_OP_CPU_KERNEL(abs,
                       AbsKernel<float>,
                       AbsKernel<double>,
                       AbsKernel<platform::float16>,
                       AbsKernel<platform::bfloat16>);
REGISTER_OP_CPU_KERNEL(abs_grad,
                       AbsGradKernel<float>,
                       AbsGradKernel<double>,
                       AbsGradKernel<platform::float16>,
                       AbsGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
