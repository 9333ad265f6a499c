#include "sluice/operators/math/cast.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

Narrowing NarrowingOf(const OpKernelConstruction& construction) {
  const auto& mode = construction.Attr<std::string>("round_mode");
  return {construction.Attr<bool>("saturate"), mode == "up" ? PowerRounding::kUp
                                               : mode == "down"
                                                   ? PowerRounding::kDown
                                                   : PowerRounding::kNearest};
}

class CastKernel final : public OpKernel {
 public:
  explicit CastKernel(const OpKernelConstruction& construction)
      : dtype_(construction.Attr<DType>("dtype")),
        narrowing_(NarrowingOf(construction)) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    Cast(x.dtype(), x.raw_data(), x.numel(), dtype_, out.raw_data(),
         narrowing_);
  }

 private:
  DType dtype_;
  Narrowing narrowing_;
};

// T is the dtype of X and of its gradient. Out may have any float dtype.
template <typename T>
class CastGradKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& out_grad = context.Input(1);
    Tensor& x_grad = context.AllocateOutput(0, out_grad.dims());
    if (x_grad.numel() == 0) return;
    Cast(out_grad.dtype(), out_grad.raw_data(), out_grad.numel(),
         x_grad.dtype(), x_grad.raw_data());
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(cast, CastKernel);
REGISTER_OP_CPU_KERNEL(cast_grad, CastGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
