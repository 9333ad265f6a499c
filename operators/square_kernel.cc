#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;

template <typename T>
class SquareKernel final : public UnaryKernel<T> {
 public:
  explicit SquareKernel(const OpKernelConstruction& /*construction*/)
      : UnaryKernel<T>(math::UnaryOp::kSquare) {}
};

template <typename T>
class SquareGradKernel final : public UnaryGradKernel<T> {
 public:
  explicit SquareGradKernel(const OpKernelConstruction& /*construction*/)
      : UnaryGradKernel<T>(math::UnaryOp::kSquare) {}
};

}  // namespace

REGISTER_OP_CPU_KERNEL(square,
                       SquareKernel<float>,
                       SquareKernel<double>,
                       SquareKernel<platform::float16>,
                       SquareKernel<platform::bfloat16>);
REGISTER_OP_CPU_KERNEL(square_grad,
                       SquareGradKernel<float>,
                       SquareGradKernel<double>,
                       SquareGradKernel<platform::float16>,
                       SquareGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
