#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/loss/loss_axis.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kNllGrain = 1 << 14;

// Calls visit(i, at, label) for label i, where `at` is the position of its
// class in X, or -1 if it is ignored.
template <typename Visit>
void ForEachLabel(const OpKernelContext& context,
                  const SoftmaxDims& dims,
                  int64_t ignored,
                  const Visit& visit) {
  const Tensor& label = context.Input("Label");
  const auto* labels = label.data<int64_t>();
  ParallelFor(label.numel(), kNllGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t value = labels[i];
      if (value == ignored) {
        visit(i, int64_t{-1}, value);
        continue;
      }
      SLUICE_ENFORCE(value >= 0 && value < dims.size, ErrorCode::kOutOfRange,
                     "nll_loss.label",
                     "{}: input Label has {} as element {}; expected a class, "
                     "0 to {}, or ignore_index = {}",
                     context.op(), value, i, dims.size - 1, ignored);
      const int64_t row = i / dims.inner * dims.size + value;
      visit(i, row * dims.inner + i % dims.inner, value);
    }
  });
}

template <typename T>
class NllLossKernel final : public OpKernel {
 public:
  explicit NllLossKernel(const OpKernelConstruction& construction)
      : ignored_(construction.Attr<int64_t>("ignore_index")),
        axis_(construction.Attr<int64_t>("axis")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const DDim& dims = context.Input("Label").dims();
    const T* from = x.data<T>();
    const T* weights = context.HasInput("Weight")
                           ? context.Input("Weight").data<T>()
                           : nullptr;
    T* loss = context.AllocateOutput("Loss", dims).template data<T>();
    T* weight = context.AllocateOutput("LabelWeight", dims).template data<T>();
    ForEachLabel(context, SoftmaxDimsOf(x.dims(), axis_), ignored_,
                 [&](int64_t i, int64_t at, int64_t label) {
                   weight[i] = at < 0               ? T{0}
                               : weights == nullptr ? T{1}
                                                    : weights[label];
                   loss[i] = at < 0 ? T{0} : -weight[i] * from[at];
                 });
  }

 private:
  int64_t ignored_, axis_;
};

template <typename T>
class NllLossGradKernel final : public OpKernel {
 public:
  explicit NllLossGradKernel(const OpKernelConstruction& construction)
      : ignored_(construction.Attr<int64_t>("ignore_index")),
        axis_(construction.Attr<int64_t>("axis")) {}

  void Compute(OpKernelContext& context) const override {
    const DDim& dims = context.Input("X").dims();
    const T* weight = context.Input("LabelWeight").data<T>();
    const T* loss_grad = context.Input("Loss@GRAD").data<T>();
    Tensor& grad = context.AllocateOutput(0, dims);
    if (grad.numel() == 0) return;
    T* to = grad.data<T>();
    FillZero(to, grad.numel() * sizeof(T));
    ForEachLabel(context, SoftmaxDimsOf(dims, axis_), ignored_,
                 [&](int64_t i, int64_t at, int64_t /*label*/) {
                   if (at >= 0) to[at] = -weight[i] * loss_grad[i];
                 });
  }

 private:
  int64_t ignored_, axis_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(nll_loss, NllLossKernel<FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(nll_loss_grad,
                       NllLossGradKernel<FloatsAndWidenedHalves>);

}  // namespace sluice
