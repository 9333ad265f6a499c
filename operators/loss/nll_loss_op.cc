#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"

namespace sluice {
namespace {

// Checks X, Label and `weight`, if that is not null, and returns the shape of
// Label: that of X without its axis, or with 1 there.
ShapeHandle NllLabelShape(const InferShapeContext& context,
                          const char* weight) {
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
  if (weight != nullptr && context.HasInput(weight)) {
    const auto weights = context.WithRank(context.input(weight), 1);
    context.Merge(context.Dim(weights, 0), context.Dim(x, at));
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
  const ShapeHandle label = NllLabelShape(context, "Weight");
  context.SetOutput("Loss", label);
  context.SetOutput("LabelWeight", label);
}

void NllGradShape(InferShapeContext& context) {
  const ShapeHandle label = NllLabelShape(context, nullptr);
  context.Merge(context.input("LabelWeight"), label);
  context.Merge(context.input("Loss@GRAD"), label);
  context.SetOutput("X@GRAD", context.input("X"));
}

std::vector<OpDesc> NllGradient(const OpDesc& forward) {
  return {MakeGradOp(forward, "nll_loss_grad",
                     {.inputs = {"X", "Label"},
                      .outputs = {"LabelWeight"},
                      .output_grads = {"Loss"},
                      .wanted = {"X"}})};
}

void NllAttributes(OpSchema& op) {
  op.Attr<int64_t>("ignore_index",
                   "Labels of this value have loss and weight 0.")
      .Default(int64_t{-100});
  op.Attr<int64_t>("axis",
                   "The dim of the classes; a negative one counts from the "
                   "end.")
      .Default(int64_t{1});
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
  op.Output("LabelWeight", "T", "In the same shape: the weight of each label.");
  NllAttributes(op);
  op.InferShape(NllShape).Gradient(NllGradient);
  op.SharesRows("Loss", {"X", "Label"}, AxisSparesRows);
  op.SharesRows("LabelWeight", {"X", "Label"}, AxisSparesRows);
}

void NllGradSchema(OpSchema& op) {
  op.Doc("The gradient of nll_loss: -LabelWeight * Loss@GRAD at the labels.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "[N, C, ...].", {.shape_only = true});
  op.Input("Label", "int64", "[N, ...]; checked when the op runs.");
  op.Input("LabelWeight", "T", "[N, ...]: what nll_loss gave.");
  op.Input("Loss@GRAD", "T", "[N, ...].");
  op.Output("X@GRAD", "T", "[N, C, ...]: 0 but at the labels.");
  NllAttributes(op);
  op.InferShape(NllGradShape);
}

}  // namespace

REGISTER_OPERATOR(nll_loss, NllSchema);
REGISTER_OPERATOR(nll_loss_grad, NllGradSchema);

}  // namespace sluice
