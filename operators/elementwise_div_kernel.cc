#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/elementwise_grad_kernel.h"
#include "sluice/operators/elementwise_kernel.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;
using framework::OpKernelContext;
using math::BinaryOp;

template <typename T>
class ElementwiseDivKernel final : public ElementwiseKernel<T> {
 public:
  explicit ElementwiseDivKernel(const OpKernelConstruction& construction)
      : ElementwiseKernel<T>(construction, BinaryOp::kDiv) {}
};

template <typename T>
class ElementwiseDivGradKernel final : public ElementwiseGradKernel<T> {
 public:
  explicit ElementwiseDivGradKernel(const OpKernelConstruction& construction)
      : ElementwiseGradKernel<T>(
            construction, /*negative_y=*/true, /*computes_terms=*/true) {}

 protected:
  const T* XTerms(const OpKernelContext& context,
                  const T* out_grad,
                  T* terms) const override {
    this->WithY(BinaryOp::kDiv, out_grad, context.Input(1).data<T>(), terms);
    return terms;
  }
  const T* YTerms(const OpKernelContext& context,
                  const T* out_grad,
                  T* terms) const override {
    const T* out = context.Input("Out").data<T>();
    math::BinarySame(BinaryOp::kMul, out_grad, out, this->count(), terms);
    this->WithY(BinaryOp::kDiv, terms, context.Input(1).data<T>(), terms);
    return terms;
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(elementwise_div,
                       ElementwiseDivKernel<float>,
                       ElementwiseDivKernel<double>,
                       ElementwiseDivKernel<platform::float16>,
                       ElementwiseDivKernel<platform::bfloat16>);
REGISTER_OP_CPU_KERNEL(elementwise_div_grad,
                       ElementwiseDivGradKernel<float>,
                       ElementwiseDivGradKernel<double>,
                       ElementwiseDivGradKernel<platform::float16>,
                       ElementwiseDivGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
