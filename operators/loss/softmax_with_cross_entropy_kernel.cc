#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/loss/loss_axis.h"
#include "sluice/operators/math/softmax.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

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

// Tensors [outer, size, inner] as rows of `size`: transposed copies, unless
// they are rows already. For one call.
template <typename T>
class Rows {
 public:
  Rows(const SoftmaxDims& dims, OpKernelContext& context)
      : dims_(dims), context_(context) {}

  int64_t count() const { return dims_.outer * dims_.inner; }
  const T* Read(const T* x) {
    if (dims_.inner == 1 || x == nullptr) return x;
    T* rows = Take();
    Turn(x, dims_.size, dims_.inner, rows);
    return rows;
  }
  // Returns the rows to write instead of `x`, for Write.
  T* Begin(T* x) { return dims_.inner == 1 ? x : Take(); }
  void Write(const T* rows, T* x) const {
    if (dims_.inner != 1) Turn(rows, dims_.inner, dims_.size, x);
  }

 private:
  T* Take() {
    copies_.push_back(
        context_.AllocateTemp(kDTypeOf<T>, {count() * dims_.size}));
    return copies_.back().template data<T>();
  }
  // Transposes matrices [rows, columns].
  void Turn(const T* from, int64_t rows, int64_t columns, T* to) const {
    const DDim sizes({dims_.outer, columns, rows});
    StridedCopy::Strides strides = {};
    strides[0] = rows * columns;
    strides[1] = 1;
    strides[2] = columns;
    StridedCopy(sizes, strides, RowMajorStrides(sizes), sizeof(T))(from, to);
  }

  SoftmaxDims dims_;
  OpKernelContext& context_;
  std::vector<Tensor> copies_;
};

template <typename T>
class CrossEntropyKernel final : public OpKernel {
 public:
  explicit CrossEntropyKernel(const OpKernelConstruction& construction)
      : labels_(construction), axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    loss_dims_ = preparation.query.outputs[1];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& logits = context.Input(0);
    const SoftmaxDims dims = SoftmaxDimsOf(logits.dims(), axis_);
    auto labels = labels_.Read<T>(context, context.Input(1), dims.size);
    Tensor& softmax = context.AllocateOutput(0, logits.dims());
    Tensor& loss = context.AllocateOutput(1, loss_dims_);
    if (loss.numel() == 0) return;
    Rows<T> rows(dims, context);
    labels.weights = rows.Read(labels.weights);
    const T* x = rows.Read(logits.data<T>());
    T* out = rows.Begin(softmax.data<T>());
    SoftmaxCrossEntropy(rows.count(), dims.size, x, labels, out,
                        loss.data<T>());
    rows.Write(out, softmax.data<T>());
  }

 private:
  Labels labels_;
  int64_t axis_;
  DDim loss_dims_;
};

template <typename T>
class CrossEntropyGradKernel final : public OpKernel {
 public:
  explicit CrossEntropyGradKernel(const OpKernelConstruction& construction)
      : labels_(construction), axis_(construction.Attr<int64_t>("axis")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& softmax = context.Input("Softmax");
    const SoftmaxDims dims = SoftmaxDimsOf(softmax.dims(), axis_);
    auto labels = labels_.Read<T>(context, context.Input("Label"), dims.size);
    Tensor& grad = context.AllocateOutput(0, softmax.dims());
    if (grad.numel() == 0) return;
    const auto given = [&](const char* name) -> const T* {
      return context.HasInput(name) ? context.Input(name).data<T>() : nullptr;
    };
    Rows<T> rows(dims, context);
    labels.weights = rows.Read(labels.weights);
    const T* softmax_grad = rows.Read(given("Softmax@GRAD"));
    const T* y = rows.Read(softmax.data<T>());
    T* out = rows.Begin(grad.data<T>());
    SoftmaxCrossEntropyGrad(rows.count(), dims.size, y, labels,
                            given("Loss@GRAD"), softmax_grad, out);
    rows.Write(out, grad.data<T>());
  }

 private:
  Labels labels_;
  int64_t axis_;
};

template <typename T>
class CrossEntropyLabelGradKernel final : public OpKernel {
 public:
  explicit CrossEntropyLabelGradKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Compute(OpKernelContext& context) const override {
    constexpr int64_t kElements = 1 << 15;
    const Tensor& logits = context.Input("Logits");
    const SoftmaxDims dims = SoftmaxDimsOf(logits.dims(), axis_);
    const T* loss_grad = context.Input("Loss@GRAD").data<T>();
    Tensor& grad = context.AllocateOutput(0, logits.dims());
    if (grad.numel() == 0) return;
    T* to = grad.data<T>();
    Softmax<T>(SoftmaxStep::kLogSoftmax, dims, logits.data<T>(), nullptr, to);
    const int64_t grain = kElements / dims.inner + 1;
    ParallelFor(dims.outer * dims.size, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* scale = loss_grad + row / dims.size * dims.inner;
        T* x = to + row * dims.inner;
        for (int64_t i = 0; i < dims.inner; ++i) {
          x[i] *= -scale[i];
        }
      }
    });
  }

 private:
  int64_t axis_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(softmax_with_cross_entropy,
                       CrossEntropyKernel<FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(softmax_with_cross_entropy_grad,
                       CrossEntropyGradKernel<FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(softmax_with_cross_entropy_grad_label,
                       CrossEntropyLabelGradKernel<FloatsAndWidenedHalves>);

}  // namespace sluice
