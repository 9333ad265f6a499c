#include <string>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// The attributes and inputs that both losses share.
struct LossParts {
  std::string classes;  // the class of each row
  std::string ignored;  // whether the row is ignored; empty: no row is
  std::string weights;  // of each row; empty: all 1
};

std::string Choose(Node& node,
                   const std::string& condition,
                   const std::string& x,
                   const std::string& y) {
  return node.Append("where",
                     {{"Condition", {condition}}, {"X", {x}}, {"Y", {y}}});
}

// Checks that scores are [N, C, d1, ...] and classes [N, d1, ...].
void CheckShapes(const Node& node) {
  const DDim x = node.Dims(0), classes = node.Dims(1);
  if (!x.rank_known() || !classes.rank_known()) return;
  bool fits = x.rank() >= 2 && x.rank() == classes.rank() + 1;
  for (int i = 0; fits && i < classes.rank(); ++i) {
    const int64_t size = x[i == 0 ? 0 : i + 1];
    fits = size < 0 || classes[i] < 0 || size == classes[i];
  }
  SLUICE_ENFORCE(fits, ErrorCode::kInvalidArgument, "onnx.loss_shapes",
                 "its scores have shape {} and its classes {}; expected [N, C, "
                 "...] and [N, ...]",
                 Printable(x), Printable(classes));
}

LossParts PartsOf(Node& node) {
  LossParts parts;
  parts.classes = node.In(1);
  if (node.attributes().Has("ignore_index")) {
    const DType dtype = node.TypeOf(1);
    const std::string index =
        node.Cast(node.Whole(node.attributes().Int("ignore_index", 0)), dtype);
    parts.ignored = node.Binary("equal", {parts.classes, index});
    // Ignored rows get a valid class.
    parts.classes =
        Choose(node, parts.ignored, node.Number(0, dtype), parts.classes);
  }
  const DType dtype = node.TypeOf(0);
  if (node.HasInput(2)) {
    parts.weights = node.Append(
        "gather", {{"X", {node.In(2)}}, {"Index", {parts.classes}}});
  } else if (!parts.ignored.empty()) {
    parts.weights = node.Number(1, dtype);
  }
  if (!parts.ignored.empty()) {
    parts.weights =
        Choose(node, parts.ignored, node.Number(0, dtype), parts.weights);
  }
  return parts;
}

// Computes the loss from the logarithms of probabilities [N, C, ...].
void Loss(Node& node, const std::string& logs) {
  const std::string reduction = node.attributes().String("reduction", "mean");
  SLUICE_ENFORCE(
      reduction == "mean" || reduction == "sum" || reduction == "none",
      ErrorCode::kInvalidArgument, "onnx.loss_reduction",
      "attribute reduction is {}; expected mean, sum or none", reduction);
  CheckShapes(node);
  const LossParts parts = PartsOf(node);
  const AttributeMap behind = {{"axes", Ints{1}}};
  const std::string rows = node.Unary("unsqueeze", parts.classes, behind);
  const std::string picked =
      node.Append("gather_elements", {{"X", {logs}}, {"Index", {rows}}},
                  {{"axis", int64_t{1}}});
  std::string loss = node.Unary("squeeze", picked, behind);
  if (!parts.weights.empty()) {
    loss = node.Binary("elementwise_mul", {loss, parts.weights});
  }
  if (!parts.ignored.empty()) {  // an ignored value may be infinite
    loss = Choose(node, parts.ignored, node.Number(0, node.TypeOf(0)), loss);
  }
  if (reduction == "none") return node.FinishUnary("neg", loss);
  loss = node.Unary("neg", loss);
  if (reduction == "sum") return node.FinishUnary("reduce_sum", loss);
  if (parts.weights.empty()) {
    return node.FinishUnary("reduce_mean", loss);
  }
  const std::string sum = node.Unary("reduce_sum", loss);
  const std::string weight = node.Unary("reduce_sum", parts.weights);
  node.FinishBinary("elementwise_div", {sum, weight});
}

void NegativeLogLikelihoodLoss(Node& node) {
  Loss(node, node.In(0));
}

void SoftmaxCrossEntropyLoss(Node& node) {
  const Inputs scores = {{"X", {node.In(0)}}};
  const AttributeMap axis = {{"axis", int64_t{1}}};
  if (!node.HasOutput(1)) {
    return Loss(node, node.Append("log_softmax", scores, axis));
  }
  node.FinishOutput(1, "log_softmax", scores, axis);
  Loss(node, node.Out(1));
}

constexpr HandlerRow kLossRows[] = {
    {"NegativeLogLikelihoodLoss", 12, NegativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", 12, SoftmaxCrossEntropyLoss},
};

}  // namespace

std::span<const HandlerRow> LossHandlers() {
  return kLossRows;
}

}  // namespace sluice::onnx
