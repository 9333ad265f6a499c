#include "sluice/operators/math/contraction/determinant.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class DeterminantKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    n_ = x[x.rank() - 1];
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input(0).data<T>();
    T* out = context.AllocateOutput(0, out_dims_).template data<T>();
    Determinants(x, out_dims_.numel(), n_, out);
  }

 private:
  int64_t n_ = 0;
  DDim out_dims_;
};

template <typename T>
class DeterminantGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    T* x_grad = context.AllocateOutput(0, x_dims_).template data<T>();
    if (x_dims_.numel() == 0) return;
    const int64_t n = x_dims_[x_dims_.rank() - 1];
    DeterminantGradients(context.Input(0).data<T>(), context.Input(1).data<T>(),
                         x_dims_.numel() / n / n, n, x_grad);
  }

 private:
  DDim x_dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(determinant, DeterminantKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(determinant_grad,
                       DeterminantGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
