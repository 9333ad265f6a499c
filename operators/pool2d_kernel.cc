#include "sluice/operators/pool2d_kernel.h"

#include <type_traits>

#include "sluice/framework/op_registry.h"
#include "sluice/operators/math/cast.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using platform::bfloat16;
using platform::float16;

template <typename T>
class Pool2dKernel final : public OpKernel {
 public:
  explicit Pool2dKernel(const OpKernelConstruction& /*construction*/) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
    geometry_ = Pool2dGeometryOf(preparation.query, dims_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", dims_);
    if (out.numel() == 0) return;
    math::Pool2d(geometry_, x.data<T>(), out.data<T>());
  }

 private:
  math::Pool2dGeometry geometry_;
  DDim dims_;
};

template <typename T>
class Pool2dGradKernel final : public OpKernel {
 public:
  explicit Pool2dGradKernel(const OpKernelConstruction& /*construction*/) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.inputs[0];
    geometry_ =
        Pool2dGeometryOf(preparation.query, preparation.query.inputs.back());
    if (kRounds) {
      preparation.scratch_bytes =
          static_cast<size_t>(dims_.numel()) * sizeof(float);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& grad = context.Input("Out@GRAD");
    Tensor& x_grad = context.AllocateOutput("X@GRAD", dims_);
    if (x_grad.numel() == 0) return;
    const T* x = context.Input("X").data<T>();
    const T* out = geometry_.max ? context.Input("Out").data<T>() : nullptr;
    if constexpr (kRounds) {
      auto* const sums = static_cast<float*>(context.scratch());
      math::Pool2dGrad(geometry_, x, out, grad.data<T>(), sums);
      math::Cast(sums, x_grad.numel(), platform::kDTypeOf<T>, x_grad.data<T>());
    } else {
      math::Pool2dGrad(geometry_, x, out, grad.data<T>(), x_grad.data<T>());
    }
  }

 private:
  // The windows that meet a pixel are added up in float, and rounded once.
  static constexpr bool kRounds = !std::is_same_v<math::PoolGrad<T>, T>;

  math::Pool2dGeometry geometry_;
  DDim dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(pool2d,
                       Pool2dKernel<float>,
                       Pool2dKernel<double>,
                       Pool2dKernel<float16>,
                       Pool2dKernel<bfloat16>);
REGISTER_OP_CPU_KERNEL(pool2d_grad,
                       Pool2dGradKernel<float>,
                       Pool2dGradKernel<double>,
                       Pool2dGradKernel<float16>,
                       Pool2dGradKernel<bfloat16>);
REGISTER_OP_CPU_KERNEL(relu_pool2d,
                       Pool2dKernel<float>,
                       Pool2dKernel<double>,
                       Pool2dKernel<float16>,
                       Pool2dKernel<bfloat16>);
REGISTER_OP_CPU_KERNEL(relu_pool2d_grad,
                       Pool2dGradKernel<float>,
                       Pool2dGradKernel<double>,
                       Pool2dGradKernel<float16>,
                       Pool2dGradKernel<bfloat16>);

}  // namespace sluice::operators
