#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"

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

}  // namespace

REGISTER_OPERATOR(nll_loss, WithGradient<kNllLossGrad>);
REGISTER_OPERATOR(nll_loss_grad, GradientSchema<kNllLossGrad>);

}  // namespace sluice
