#include <algorithm>
#include <type_traits>

#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/math/softmax.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

SoftmaxDims DimsOf(const DDim& x, int64_t axis) {
  const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  return {x.Product(0, at), x[at], x.Product(at + 1, x.rank())};
}

// Whether an op is the logarithm of softmax.
using Plain = std::false_type;
using Logarithm = std::true_type;

template <typename T, typename Log>
class SoftmaxKernel final : public OpKernel {
 public:
  explicit SoftmaxKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = DimsOf(preparation.query.inputs[0], axis_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    Softmax<T>(Log::value ? SoftmaxStep::kLogSoftmax : SoftmaxStep::kSoftmax,
               dims_, x.data<T>(), nullptr, out.data<T>());
  }

 private:
  int64_t axis_;
  SoftmaxDims dims_;
};

template <typename T, typename Log>
class SoftmaxGradKernel final : public OpKernel {
 public:
  explicit SoftmaxGradKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = DimsOf(preparation.query.inputs[0], axis_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& out = context.Input(0);
    Tensor& grad = context.AllocateOutput(0, out.dims());
    if (grad.numel() == 0) return;
    Softmax(Log::value ? SoftmaxStep::kLogGrad : SoftmaxStep::kGrad, dims_,
            out.data<T>(), context.Input(1).data<T>(), grad.data<T>());
  }

 private:
  int64_t axis_;
  SoftmaxDims dims_;
};

// Each row takes two passes from a cache, and additional steps at its ends.
KernelWork GradWork(const KernelQuery& query) {
  const DDim& x = query.outputs[0];
  if (x.numel() == 0) return {};
  const SoftmaxDims dims = DimsOf(x, query.Attr<int64_t>("axis"));
  KernelWork work = DefaultKernelWork(query);
  work.flops *= 4;
  const int64_t rows = x.numel() / std::max<int64_t>(dims.size, 1);
  work.rows = static_cast<double>(rows);
  return work;
}

}  // namespace

REGISTER_OP_CPU_KERNEL(softmax, SoftmaxKernel<FloatsAndWidenedHalves, Plain>);
REGISTER_OP_CPU_KERNEL(softmax_grad,
                       EstimatedBy<&GradWork>,
                       SoftmaxGradKernel<FloatsAndWidenedHalves, Plain>);
REGISTER_OP_CPU_KERNEL(log_softmax,
                       SoftmaxKernel<FloatsAndWidenedHalves, Logarithm>);
REGISTER_OP_CPU_KERNEL(log_softmax_grad,
                       SoftmaxGradKernel<FloatsAndWidenedHalves, Logarithm>);

}  // namespace sluice
