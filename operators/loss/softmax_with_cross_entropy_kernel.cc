#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/math/softmax.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Reads the labels as the attributes say.
class Labels {
 public:
  explicit Labels(const OpKernelConstruction& construction)
      : soft_(construction.Attr<bool>("soft_label")),
        ignored_(construction.Attr<int64_t>("ignore_index")) {}

  // Raises OutOfRange for a label that is no class.
  template <typename T>
  SoftmaxLabels<T> Read(const OpKernelContext& context,
                        const Tensor& label,
                        int64_t classes) const {
    if (soft_) return {nullptr, ignored_, label.data<T>()};
    const int64_t* index = label.data<int64_t>();
    for (int64_t row = 0; row < label.numel(); ++row) {
      const int64_t value = index[row];
      const bool fits = value >= 0 && value < classes;
      SLUICE_ENFORCE(fits || value == ignored_, ErrorCode::kOutOfRange,
                     "softmax_with_cross_entropy.label_range",
                     "{}: input Label has {} in row {}; expected a class, 0 to "
                     "{}, or ignore_index = {}",
                     context.op(), value, row, classes - 1, ignored_);
    }
    return {index, ignored_, nullptr};
  }

 private:
  bool soft_;
  int64_t ignored_;
};

template <typename T>
class CrossEntropyKernel final : public OpKernel {
 public:
  explicit CrossEntropyKernel(const OpKernelConstruction& construction)
      : labels_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    loss_dims_ = preparation.query.outputs[1];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& logits = context.Input(0);
    const int64_t classes = logits.dims().at(-1);
    const auto labels = labels_.Read<T>(context, context.Input(1), classes);
    Tensor& softmax = context.AllocateOutput(0, logits.dims());
    Tensor& loss = context.AllocateOutput(1, loss_dims_);
    SoftmaxCrossEntropy(loss.numel(), classes, logits.data<T>(), labels,
                        softmax.data<T>(), loss.data<T>());
  }

 private:
  Labels labels_;
  DDim loss_dims_;
};

template <typename T>
class CrossEntropyGradKernel final : public OpKernel {
 public:
  explicit CrossEntropyGradKernel(const OpKernelConstruction& construction)
      : labels_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& softmax = context.Input("Softmax");
    const int64_t classes = softmax.dims().at(-1);
    const auto labels =
        labels_.Read<T>(context, context.Input("Label"), classes);
    Tensor& grad = context.AllocateOutput(0, softmax.dims());
    if (grad.numel() == 0) return;
    const auto given = [&](const char* name) -> const T* {
      return context.HasInput(name) ? context.Input(name).data<T>() : nullptr;
    };
    SoftmaxCrossEntropyGrad(grad.numel() / classes, classes, softmax.data<T>(),
                            labels, given("Loss@GRAD"), given("Softmax@GRAD"),
                            grad.data<T>());
  }

 private:
  Labels labels_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(softmax_with_cross_entropy,
                       CrossEntropyKernel<FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(softmax_with_cross_entropy_grad,
                       CrossEntropyGradKernel<FloatsAndWidenedHalves>);

}  // namespace sluice
