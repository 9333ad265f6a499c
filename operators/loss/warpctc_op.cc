#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Checks the inputs and returns the batch.
int64_t CtcBatch(const InferShapeContext& context) {
  const auto logits = context.WithRank(context.input("Logits"), 3);
  const auto label = context.WithRank(context.input("Label"), 2);
  const auto times = context.WithRank(context.input("LogitsLength"), 1);
  const auto length = context.WithRank(context.input("LabelLength"), 1);
  DimHandle batch = context.Dim(times, 0);
  batch = context.Merge(batch, context.Dim(length, 0));
  if (label.dims.rank_known()) {
    batch = context.Merge(batch, context.Dim(label, 0));
  }
  if (!logits.dims.rank_known()) return batch;
  const int64_t classes = logits.dims[2];
  const auto blank = context.Attr<int64_t>("blank");
  context.Require(classes < 0 || blank < classes, "warpctc.blank",
                  "attribute blank = {}; expected a class of Logits {}, 0 to "
                  "{}",
                  blank, logits.dims, classes - 1);
  return context.Merge(batch, context.Dim(logits, 1));
}

DDim CtcLossDims(const InferShapeContext& context) {
  return {CtcBatch(context), 1};
}

void CtcSchema(OpSchema& op) {
  op.Doc(
      "Connectionist temporal classification: -log of the summed probability, "
      "by softmax(Logits), of all sequences of classes that become Label once "
      "equal neighbours are merged and blanks removed. It is computed in log "
      "space, and is infinite where there is no such sequence. From Graves et "
      "al., 2006.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("Logits", "T",
           "[T, B, C]: the logits of C classes, one of them the blank, at each "
           "of up to T times of B sequences.");
  op.Input("Label", "int64",
           "[B, L]: the classes that each sequence has to show, no blank among "
           "them; those past its length are not read.");
  op.Input("LogitsLength", "int64", "[B]: from 0 to T.", {.host = true});
  op.Input("LabelLength", "int64", "[B]: from 0 to L.", {.host = true});
  op.Output("Loss", "T", "[B, 1].");
  op.Attr<int64_t>("blank", "The class that stands for no label.")
      .Default(int64_t{0})
      .AtLeast(0);
  op.Attr<bool>(
        "norm_by_times",
        "Divides gradients, not losses, by the sequence's LogitsLength, "
        "as in Fluid.")
      .Default(false);
  op.InferShape([](InferShapeContext& context) {
    context.SetOutput("Loss", CtcLossDims(context));
  });
}

constexpr GradientOp kWarpctcGrad = {
    .forward = CtcSchema,
    .doc =
        "The gradient of warpctc, exact, by a pass forward and one back; 0 "
        "past the sequences' lengths and where the loss is infinite.",
    .inputs = {"Logits", "Label", "LogitsLength", "LabelLength"},
    .output_grads = {"Loss"},
    .wanted = {"Logits"},
    .dims = CtcLossDims};

}  // namespace

REGISTER_OPERATOR(warpctc, WithGradient<kWarpctcGrad>);
REGISTER_OPERATOR(warpctc_grad, GradientSchema<kWarpctcGrad>);

}  // namespace sluice
