#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/loss/loss_axis.h"
#include "sluice/operators/math/softmax.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Checks axis and labels and returns the shape of the losses.
DDim LossDims(const InferShapeContext& context, const ShapeHandle& logits) {
  const ShapeHandle label = context.input("Label");
  const bool soft = context.Attr<bool>("soft_label");
  const DType dtype = context.input_dtype("Label");
  context.Require((dtype != DType::kInt64) == soft,
                  "softmax_with_cross_entropy.label_dtype",
                  "input Label has to be {} with soft_label = {}, got {}",
                  soft ? "of the logits' dtype" : "int64", soft,
                  ToString(dtype));
  if (!logits.dims.rank_known()) return DDim::UnknownRank();
  const auto axis = context.Attr<int64_t>("axis");
  const int rank = logits.rank();
  context.Require(axis >= -rank && axis < rank,
                  "softmax_with_cross_entropy.axis",
                  "attribute axis = {}; expected a dim of {}, from {} to {}",
                  axis, logits.dims, -rank, rank - 1);
  DDim loss = logits;
  loss[static_cast<int>(axis < 0 ? axis + rank : axis)] = 1;
  if (soft) {
    context.Merge(logits, label);
  } else {
    context.Merge(label, ShapeHandle{loss, -1});
  }
  return loss;
}

void ForwardShape(InferShapeContext& context) {
  const ShapeHandle logits =
      context.WithRankAtLeast(context.input("Logits"), 1);
  context.SetOutput("Softmax", logits);
  context.SetOutput("Loss", LossDims(context, logits));
}

void GradShape(InferShapeContext& context) {
  const ShapeHandle softmax =
      context.WithRankAtLeast(context.input("Softmax"), 1);
  const DDim loss = LossDims(context, softmax);
  if (context.HasInput("Softmax@GRAD")) {
    context.Merge(context.input("Softmax@GRAD"), softmax);
  }
  if (context.HasInput("Loss@GRAD")) {
    context.Merge(context.input("Loss@GRAD"), {loss, -1});
  }
  context.SetOutput("Logits@GRAD", softmax);
}

void LabelGradShape(InferShapeContext& context) {
  const ShapeHandle logits =
      context.WithRankAtLeast(context.input("Logits"), 1);
  const DDim loss = LossDims(context, logits);
  context.Require(
      context.Attr<bool>("soft_label"),
      "softmax_with_cross_entropy.hard_label_gradient",
      "attribute soft_label must be true: classes have no gradient");
  context.Merge(context.input("Loss@GRAD"), {loss, -1});
  context.SetOutput("Label@GRAD", context.input("Label"));
}

void ForwardSchema(OpSchema& op);

constexpr GradientOp kLogitsGrad = {
    .forward = ForwardSchema,
    .doc =
        "The gradient of softmax_with_cross_entropy's logits. That rows of "
        "Softmax sum to 1 is relied on.",
    .inputs = {"Label"},
    .outputs = {"Softmax"},
    .output_grads = {"Softmax", "Loss"},
    .wanted = {"Logits"},
    .shape = GradShape};

std::vector<OpDesc> Gradient(const OpDesc& forward) {
  std::vector<OpDesc> ops = {MakeGradient(forward, kLogitsGrad)};
  const auto soft = forward.attributes.find("soft_label");
  if (soft != forward.attributes.end() && std::get<bool>(soft->second)) {
    ops.push_back(MakeGradOp(forward, "softmax_with_cross_entropy_grad_label",
                             {.inputs = {"Logits", "Label"},
                              .output_grads = {"Loss"},
                              .wanted = {"Label"}}));
  }
  return ops;
}

void Attributes(OpSchema& op) {
  op.Attr<bool>("soft_label", "Label has a weight for each class.")
      .Default(false);
  op.Attr<int64_t>("ignore_index",
                   "Rows of this label have loss 0 and no gradient.")
      .Default(int64_t{-100});
  op.Attr<int64_t>("axis",
                   "The dim of the classes, 1 in Loss; a negative one counts "
                   "from the end.")
      .Default(int64_t{-1});
}

void TypeVars(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.TypeVar("L", {DType::kInt64, DType::kFloat32, DType::kFloat64,
                   DType::kFloat16, DType::kBFloat16});
}

void ForwardSchema(OpSchema& op) {
  op.Doc(
      "The softmax of each row of logits, and the cross entropy of label and "
      "softmax: Loss = - log Softmax[label], or the negative sum of Label * "
      "log Softmax.");
  TypeVars(op);
  op.Input("Logits", "T", "[..., C]: rows of logits.");
  op.Input("Label", "L",
           "[..., 1], int64: the class of each row, 0 to C - 1, or "
           "ignore_index; checked when the op runs. With soft_label [..., C]: "
           "a weight for each class. Classes are along axis.");
  op.Output("Softmax", "T", "[..., C]: the softmax of each row.");
  op.Output("Loss", "T", "[..., 1]: the loss of each row.");
  Attributes(op);
  op.InferShape(ForwardShape).Gradient(Gradient);
  const auto classes_are_not_rows = [](const OpDesc&, const DDim& x) {
    return x.rank_known() && x.rank() >= 2;
  };
  op.SharesRows("Softmax", {"Logits", "Label"}, classes_are_not_rows);
  op.SharesRows("Loss", {"Logits", "Label"});
  op.Sizes({{"Logits", "64, n"}, {"Label", "64, 1"}});
}

void LabelGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of softmax_with_cross_entropy's soft labels: "
      "-log softmax(Logits) * Loss@GRAD.");
  TypeVars(op);
  op.Input("Logits", "T", "[..., C]: rows of logits.");
  op.Input("Label", "L", "[..., C]: the weights.", {.shape_only = true});
  op.Input("Loss@GRAD", "T", "The gradient of the losses.");
  op.Output("Label@GRAD", "T", "[..., C]: the gradient of the weights.");
  Attributes(op);
  op.InferShape(LabelGradShape);
}

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

REGISTER_OPERATOR(softmax_with_cross_entropy, ForwardSchema);
REGISTER_OPERATOR(softmax_with_cross_entropy_grad, GradientSchema<kLogitsGrad>);
REGISTER_OPERATOR(softmax_with_cross_entropy_grad_label, LabelGradSchema);
REGISTER_OP_CPU_KERNEL(softmax_with_cross_entropy,
                       CrossEntropyKernel<FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(softmax_with_cross_entropy_grad,
                       CrossEntropyGradKernel<FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(softmax_with_cross_entropy_grad_label,
                       CrossEntropyLabelGradKernel<FloatsAndWidenedHalves>);

}  // namespace sluice
