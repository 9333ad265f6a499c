#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;

template <typename T>
class TanhKernel final : public UnaryKernel<T> {
 public:
  explicit TanhKernel(const OpKernelConstruction& /*construction*/)
      : UnaryKernel<T>(math::UnaryOp::kTanh) {}
};

template <typename T>
class TanhGradKernel final : public UnaryGradKernel<T> {
 public:
  explicit TanhGradKernel(const OpKernelConstruction& /*construction*/)
      : UnaryGradKernel<T>(math::UnaryOp::kTanh) {}
};

}  // namespace

REGISTER_OP_CPU_KERNEL(tanh,
                       TanhKernel<float>,
                       TanhKernel<double>,
                       TanhKernel<platform::float16>,
                       TanhKernel<platform::bfloat16>);
REGISTER_OP_CPU_KERNEL(tanh_grad,
                       TanhGradKernel<float>,
                       TanhGradKernel<double>,
                       TanhGradKernel<platform::float16>,
                       TanhGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
