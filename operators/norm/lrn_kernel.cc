#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/norm/lrn_geometry.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class LrnKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = LrnGeometryOf(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (x.numel() > 0) Lrn(geometry_, x.data<T>(), out.data<T>());
  }

 private:
  LrnGeometry geometry_;
};

template <typename T>
class LrnGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    geometry_ = LrnGeometryOf(preparation.query);
    preparation.scratch_bytes =
        static_cast<size_t>(preparation.query.inputs[0].numel()) * sizeof(T);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& x_grad = context.AllocateOutput(0, x.dims());
    if (x.numel() == 0) return;
    LrnGrad(geometry_, x.data<T>(), context.Input(1).data<T>(),
            static_cast<T*>(context.scratch()), x_grad.data<T>());
  }

 private:
  LrnGeometry geometry_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(lrn, LrnKernel<FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(lrn_grad, LrnGradKernel<FloatsAndWidenedHalves>);

}  // namespace sluice
