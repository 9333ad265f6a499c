#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/cast.h"

namespace sluice::operators {

using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

namespace {

template <typename T>
class CastKernel final : public OpKernel {
 public:
  explicit CastKernel(const OpKernelConstruction& construction)
      : dtype_(construction.Attr<platform::DType>("dtype")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    math::Cast(x.data<T>(), x.numel(), dtype_, out.raw_data());
  }

 private:
  platform::DType dtype_;
};

// T is the dtype of X and its gradient; that of Out may be any float.
template <typename T>
class CastGradKernel final : public OpKernel {
 public:
  explicit CastGradKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& out_grad = context.Input(1);
    Tensor& x_grad = context.AllocateOutput(0, out_grad.dims());
    if (x_grad.numel() == 0) return;
    platform::VisitDType(out_grad.dtype(), [&]<typename From>() {
      math::Cast(out_grad.data<From>(), out_grad.numel(), platform::kDTypeOf<T>,
                 x_grad.raw_data());
    });
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(cast,
                       CastKernel<float>,
                       CastKernel<double>,
                       CastKernel<platform::float16>,
                       CastKernel<platform::bfloat16>,
                       CastKernel<int8_t>,
                       CastKernel<uint8_t>,
                       CastKernel<int32_t>,
                       CastKernel<int64_t>,
                       CastKernel<bool>);
REGISTER_OP_CPU_KERNEL(cast_grad,
                       CastGradKernel<float>,
                       CastGradKernel<double>,
                       CastGradKernel<platform::float16>,
                       CastGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
