#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/norm/lrn_geometry.h"

// float16 and bfloat16 are computed in float32, in scratch, and rounded once.
namespace sluice::operators {
namespace {

using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

template <typename T>
class LrnKernel final : public OpKernel {
 public:
  explicit LrnKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    geometry_ = LrnGeometryOf(preparation.query);
    if (!math::kIsHalf<T>) return;
    preparation.scratch_bytes =
        static_cast<size_t>(preparation.query.inputs[0].numel()) * 2 *
        sizeof(float);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    const int64_t count = x.numel();
    if (count == 0) return;
    if constexpr (math::kIsHalf<T>) {
      auto* const wide = static_cast<float*>(context.scratch());
      math::Cast(x.data<T>(), count, platform::DType::kFloat32, wide);
      math::Lrn(geometry_, wide, wide + count);
      math::Cast(wide + count, count, platform::kDTypeOf<T>, out.data<T>());
    } else {
      math::Lrn(geometry_, x.data<T>(), out.data<T>());
    }
  }

 private:
  math::LrnGeometry geometry_;
};

template <typename T>
class LrnGradKernel final : public OpKernel {
 public:
  using Value = math::Computed<T>;

  explicit LrnGradKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    geometry_ = LrnGeometryOf(preparation.query);
    const auto count = static_cast<size_t>(preparation.query.inputs[0].numel());
    preparation.scratch_bytes =
        count * (math::kIsHalf<T> ? 4 : 1) * sizeof(Value);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const T* out_grad = context.Input(1).data<T>();
    Tensor& x_grad = context.AllocateOutput(0, x.dims());
    const int64_t count = x.numel();
    if (count == 0) return;
    auto* const terms = static_cast<Value*>(context.scratch());
    if constexpr (math::kIsHalf<T>) {
      float* const wide_x = terms + count;
      float* const wide_grad = wide_x + count;
      float* const result = wide_grad + count;
      math::Cast(x.data<T>(), count, platform::DType::kFloat32, wide_x);
      math::Cast(out_grad, count, platform::DType::kFloat32, wide_grad);
      math::LrnGrad(geometry_, wide_x, wide_grad, terms, result);
      math::Cast(result, count, platform::kDTypeOf<T>, x_grad.data<T>());
    } else {
      math::LrnGrad(geometry_, x.data<T>(), out_grad, terms, x_grad.data<T>());
    }
  }

 private:
  math::LrnGeometry geometry_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(lrn,
                       LrnKernel<float>,
                       LrnKernel<double>,
                       LrnKernel<platform::float16>,
                       LrnKernel<platform::bfloat16>);
REGISTER_OP_CPU_KERNEL(lrn_grad,
                       LrnGradKernel<float>,
                       LrnGradKernel<double>,
                       LrnGradKernel<platform::float16>,
                       LrnGradKernel<platform::bfloat16>);

}  // namespace sluice::operators
