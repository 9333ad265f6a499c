#include "sluice/onnx/handlers/scores.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/onnx/import/tensor_values.h"

namespace sluice::onnx {

std::string RowsOf(Node& node, int index, DType dtype) {
  const std::string x = node.Cast(node.In(index), dtype);
  const int rank = node.DimsOf(x).rank();
  SLUICE_ENFORCE(rank < 0 || rank == 1 || rank == 2,
                 ErrorCode::kInvalidArgument, "onnx.rows_rank",
                 "its input {} has shape {}; expected rows of features, [N, F] "
                 "or [F]",
                 index, node.DimsOf(x));
  return rank == 1 ? node.Reshape(x, {1, -1}) : x;
}

int64_t FeaturesOf(const Node& node) {
  const DDim dims = node.Dims(0);
  return dims.rank() < 1 ? kUnknownDim : dims.at(-1);
}

Doubles NumbersOf(Node& node, const std::string& name) {
  const std::string tensor_name = name + "_as_tensor";
  const TensorProto* tensor = node.attributes().Tensor(tensor_name);
  Doubles numbers = node.attributes().Floats(name);
  if (tensor == nullptr) return numbers;
  SLUICE_ENFORCE(numbers.empty(), ErrorCode::kInvalidArgument,
                 "onnx.numbers_twice", "attributes {} and {}; expected one",
                 name, tensor_name);
  return ToDoubles(
      ToTensor(*tensor, nullptr, "attribute " + tensor_name, &node.cost()));
}

std::string NewNumbers(Node& node,
                       const DDim& dims,
                       const Doubles& values,
                       DType dtype) {
  return node.NewConstant(FromDoubles(dtype, dims, values));
}

ScoreTransform TransformOf(Node& node) {
  constexpr std::pair<const char*, ScoreTransform> kNames[] = {
      {"NONE", ScoreTransform::kNone},
      {"SOFTMAX", ScoreTransform::kSoftmax},
      {"LOGISTIC", ScoreTransform::kLogistic},
      {"SOFTMAX_ZERO", ScoreTransform::kSoftmaxZero},
      {"PROBIT", ScoreTransform::kProbit}};
  const std::string given = node.attributes().String("post_transform", "NONE");
  for (const auto& [name, transform] : kNames) {
    if (given == name) return transform;
  }
  Raise(ErrorCode::kInvalidArgument, "onnx.post_transform",
        "its post_transform is {}; expected NONE, SOFTMAX, LOGISTIC, "
        "SOFTMAX_ZERO or PROBIT",
        Shown(given));
}

namespace {

// sqrt(2) * erfinv(2 * x - 1), by the formula of Winitzki (2008) with a = 0.147
// that onnxruntime has.
std::string Probit(Node& node, const std::string& x) {
  constexpr double kA = 0.147;
  const auto scaled = [&node](const std::string& of, double scale,
                              double bias = 0) {
    return node.Unary("scale", of, {{"scale", scale}, {"bias", bias}});
  };
  const std::string y = scaled(x, 2, -1);
  const std::string below =
      node.Binary("elementwise_mul", {scaled(y, -1, 1), scaled(y, 1, 1)});
  const std::string log = node.Unary("log", below);
  const std::string half = scaled(log, 0.5, 2 / (M_PI * kA));
  const std::string square = node.Unary("square", half);
  const std::string root = node.Unary(
      "sqrt", node.Binary("elementwise_sub", {square, scaled(log, 1 / kA)}));
  const std::string size =
      node.Unary("sqrt", node.Binary("elementwise_sub", {root, half}));
  return scaled(node.Binary("elementwise_mul", {node.Unary("sign", y), size}),
                M_SQRT2);
}

// A softmax in which scores of 0 stay 0; 0.5 where all are.
std::string SoftmaxZero(Node& node, const std::string& x) {
  constexpr double kZero = 1e-7;
  const DType dtype = node.DTypeOf(x);
  const AttributeMap last = {{"dim", Ints{-1}}, {"keep_dim", true}};
  const std::string most = node.Unary("reduce_max", x, last);
  const std::string is_large = node.Binary(
      "greater_than", {node.Unary("abs", x), node.Number(kZero, dtype)});
  const std::string small = node.Binary(
      "elementwise_mul", {x, node.Unary("exp", node.Unary("neg", most))});
  const std::string share = node.Where(
      {is_large, node.Unary("exp", node.Binary("elementwise_sub", {x, most})),
       small});
  const std::string sum = node.Unary("reduce_sum", share, last);
  const std::string zero = node.Number(0, dtype);
  return node.Where({node.Binary("equal", {sum, zero}), node.Number(0.5, dtype),
                     node.Binary("elementwise_div", {share, sum})});
}

}  // namespace

std::string Transformed(Node& node,
                        const std::string& scores,
                        ScoreTransform transform) {
  switch (transform) {
    case ScoreTransform::kSoftmax:
      return node.Unary("softmax", scores, {{"axis", int64_t{-1}}});
    case ScoreTransform::kLogistic:
      return node.Unary("sigmoid", scores);
    case ScoreTransform::kSoftmaxZero:
      return SoftmaxZero(node, scores);
    case ScoreTransform::kProbit:
      return Probit(node, scores);
    case ScoreTransform::kNone:
      break;
  }
  return scores;
}

std::string TransformedTargets(Node& node,
                               const std::string& scores,
                               int64_t targets,
                               ScoreTransform transform) {
  if (targets == 1 && transform != ScoreTransform::kProbit) return scores;
  return Transformed(node, scores, transform);
}

ClassLabels::ClassLabels(Node& node, const char* numbers)
    : node_(node), numbers_(node.attributes().Ints(numbers)) {
  const Names strings = node.attributes().Strings("classlabels_strings");
  SLUICE_ENFORCE(numbers_.empty() != strings.empty(),
                 ErrorCode::kInvalidArgument, "onnx.class_labels",
                 "it has {} {} and {} classlabels_strings; expected one of "
                 "both",
                 numbers_.size(), numbers, strings.size());
  if (strings.empty()) return;
  numbers_ = node.texts().NumbersOf(strings);
  of_texts_ = true;
  node.MarkTexts();
}

void ClassLabels::FinishByBest(const std::string& scores) const {
  Ints counted(numbers_.size());
  std::iota(counted.begin(), counted.end(), 0);
  const AttributeMap last = {{"axis", int64_t{-1}}};
  if (numbers_ == counted) return node_.FinishUnary("arg_max", scores, last);
  const std::string best = node_.Unary("arg_max", scores, last);
  node_.Finish("gather", {{"X", {node_.Vector(numbers_)}}, {"Index", {best}}});
}

void ClassLabels::FinishByCondition(const std::string& condition) const {
  const bool two = numbers_.size() == 2;
  if (of_texts_ && !two) {
    Node::Unsupported("it has one score for {} labels that are strings",
                      numbers_.size());
  }
  const std::string of_rows = node_.Reshape(condition, {-1});
  node_.Finish("where", {{"Condition", {of_rows}},
                         {"X", {node_.Whole(two ? numbers_[1] : 1)}},
                         {"Y", {node_.Whole(two ? numbers_[0] : 0)}}});
}

std::string BothScores(Node& node,
                       const std::string& score,
                       bool is_share,
                       ScoreTransform transform) {
  const bool logistic = transform == ScoreTransform::kLogistic;
  const double bias = is_share && !logistic ? 1 : 0;
  const std::string other =
      node.Unary("scale", score, {{"scale", -1.0}, {"bias", bias}});
  const std::string both = node.Concat({other, score}, 1);
  const bool transforms = logistic || transform == ScoreTransform::kProbit;
  return transforms ? Transformed(node, both, transform) : both;
}

void FinishCast(Node& node, const std::string& x, DType dtype) {
  if (node.DTypeOf(x) == dtype) return node.FinishUnary("assign", x);
  node.FinishUnary("cast", x, {{"dtype", dtype}});
}

void FinishScores(Node& node, const std::string& scores) {
  if (node.output_count() < 2) return;
  node.FinishOutput(1, "assign", {{"X", {node.Cast(scores, DType::kFloat32)}}});
}

}  // namespace sluice::onnx
