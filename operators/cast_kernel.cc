#include "sluice/framework/op_registry.h"
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

}  // namespace sluice::operators
