#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

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

}  // namespace

REGISTER_OPERATOR(softmax_with_cross_entropy, ForwardSchema);
REGISTER_OPERATOR(softmax_with_cross_entropy_grad, GradientSchema<kLogitsGrad>);
REGISTER_OPERATOR(softmax_with_cross_entropy_grad_label, LabelGradSchema);

}  // namespace sluice
