#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/elementwise_grad_kernel.h"
#include "sluice/operators/elementwise_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;
using framework::OpKernelContext;
using math::BinaryOp;

template <typename T>
class ElementwiseMulKernel final : public ElementwiseKernel<T> {
 public:
  explicit ElementwiseMulKernel(const OpKernelConstruction& construction)
      : ElementwiseKernel<T>(construction, BinaryOp::kMul) {}
};

template <typename T>
class ElementwiseMulGradKernel final : public ElementwiseGradKernel<T> {
 public:
  explicit ElementwiseMulGradKernel(const OpKernelConstruction& construction)
      : ElementwiseGradKernel<T>(
            construction, /*negative_y=*/false, /*computes_terms=*/true) {}

 protected:
  const T* XTerms(const OpKernelContext& context,
                  const T* out_grad,
                  T* terms) const override {
    this->WithY(BinaryOp::kMul, out_grad, context.Input(1).data<T>(), terms);
    return terms;
  }
  const T* YTerms(const OpKernelContext& context,
                  const T* out_grad,
                  T* terms) const override {
    this->WithX(BinaryOp::kMul, out_grad, context.Input(0).data<T>(), terms);
    return terms;
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(elementwise_mul,
                       ElementwiseMulKernel<float>,
                       ElementwiseMulKernel<double>,
                       ElementwiseMulKernel<platform::float16>,
                       ElementwiseMulKernel<platform::bfloat16>,
                       ElementwiseMulKernel<int8_t>,
                       ElementwiseMulKernel<uint8_t>,
                       ElementwiseMulKernel<int32_t>,
                       ElementwiseMulKernel<int64_t>);
REGISTER_OP_CPU_KERNEL(elementwise_mul_grad,
                       ElementwiseMulGradKernel<float>,
                       ElementwiseMulGradKernel<double>,
                       ElementwiseMulGradKernel<platform::float16>,
                       ElementwiseMulGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
