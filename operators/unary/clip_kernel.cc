#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/unary/clip_bounds.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

template <typename T>
class ClipKernel final : public OpKernel {
 public:
  explicit ClipKernel(const OpKernelConstruction& construction)
      : bounds_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", x.dims());
    if (out.numel() == 0) return;
    const T* from = x.data<T>();
    T* to = out.data<T>();
    ParallelFor(out.numel(), kGrain,
                [from, to, bounds = bounds_](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const auto value = Widen(from[i]);
                    // Both comparisons are false for NaN, which is kept.
                    const auto above = value < bounds.min ? bounds.min : value;
                    to[i] = Narrow<T>(above > bounds.max ? bounds.max : above);
                  }
                });
  }

 private:
  ClipBounds<Computed<T>> bounds_;
};

template <typename T>
class ClipGradKernel final : public OpKernel {
 public:
  explicit ClipGradKernel(const OpKernelConstruction& construction)
      : bounds_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& x_grad = context.AllocateOutput("X@GRAD", x.dims());
    if (x_grad.numel() == 0) return;
    const T* from = x.data<T>();
    const T* grad = context.Input("Out@GRAD").data<T>();
    T* to = x_grad.data<T>();
    ParallelFor(x_grad.numel(), kGrain,
                [from, grad, to, bounds = bounds_](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const auto value = Widen(from[i]);
                    const bool cut = value < bounds.min || value > bounds.max;
                    to[i] = cut ? T{} : grad[i];
                  }
                });
  }

 private:
  ClipBounds<Computed<T>> bounds_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(clip, ClipKernel<NumberTypes>);
REGISTER_OP_CPU_KERNEL(clip_grad, ClipGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
