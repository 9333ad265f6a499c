#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/loss/loss_axis.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Checks X and Label and returns the shape of Label: that of X without its
// axis, or with 1 there. The gradient op has no Weight.
template <bool kForward>
DDim NllLabelDims(const InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 1);
  const ShapeHandle label = context.input("Label");
  if (!x.dims.rank_known()) return label;
  const auto axis = context.Attr<int64_t>("axis");
  const int rank = x.rank();
  context.Require(axis >= -rank && axis < rank, "nll_loss.axis",
                  "attribute axis = {}; expected a dim of input X {}, from {} "
                  "to {}",
                  axis, x.dims, -rank, rank - 1);
  const auto at = static_cast<int>(axis < 0 ? axis + rank : axis);
  if constexpr (kForward) {
    if (context.HasInput("Weight")) {
      const auto weights = context.WithRank(context.input("Weight"), 1);
      context.Merge(context.Dim(weights, 0), context.Dim(x, at));
    }
  }
  const ShapeHandle before = context.Subshape(x, 0, at);
  const ShapeHandle after = context.Subshape(x, at + 1, rank);
  if (!label.dims.rank_known()) return label;
  const bool keeps = label.rank() == rank;
  const ShapeHandle middle =
      keeps ? InferShapeContext::Vector(1) : InferShapeContext::Scalar();
  return context.Merge(
      label, context.Concatenate(context.Concatenate(before, middle), after));
}

void NllShape(InferShapeContext& context) {
  const DDim label = NllLabelDims<true>(context);
  context.SetOutput("Loss", label);
  context.SetOutput("LabelWeight", label);
}

void NllSchema(OpSchema& op) {
  op.Doc(
      "The negative log-likelihood of each label, without a reduction: Loss = "
      "-Weight[label] * X[n, label, ...] for logarithms X of probabilities. "
      "The mean of PyTorch is the sum of Loss over that of LabelWeight.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "[N, C, ...]: a value for each of C classes.");
  op.Input("Label", "int64",
           "[N, ...] or [N, 1, ...]: classes, 0 to C - 1, or ignore_index; "
           "checked when the op runs.");
  op.Input("Weight", "T", "[C]: the weight of each class; 1 if left out.",
           {.optional = true});
  op.Output("Loss", "T", "In the shape of Label.");
  op.Output("LabelWeight", "T",
            "In the shape of Label: the weight of each label.");
  op.Attr<int64_t>("ignore_index",
                   "Labels of this value have loss and weight 0.")
      .Default(int64_t{-100});
  op.Attr<int64_t>("axis",
                   "The dim of the classes; a negative one counts from the "
                   "end.")
      .Default(int64_t{1});
  op.InferShape(NllShape);
  op.SharesRows("Loss", {"X", "Label"}, AxisSparesRows);
  op.SharesRows("LabelWeight", {"X", "Label"}, AxisSparesRows);
}

constexpr GradientOp kNllLossGrad = {
    .forward = NllSchema,
    .doc = "The gradient of nll_loss: -LabelWeight * Loss@GRAD at the labels.",
    .inputs = {ShapeOf("X"), "Label"},
    .outputs = {"LabelWeight"},
    .output_grads = {"Loss"},
    .dims = NllLabelDims<false>};

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

REGISTER_OPERATOR(nll_loss, WithGradient<kNllLossGrad>);
REGISTER_OPERATOR(nll_loss_grad, GradientSchema<kNllLossGrad>);
REGISTER_OP_CPU_KERNEL(nll_loss, NllLossKernel<FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(nll_loss_grad,
                       NllLossGradKernel<FloatsAndWidenedHalves>);

}  // namespace sluice
