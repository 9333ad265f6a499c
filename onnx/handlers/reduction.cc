#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// The attributes and inputs that both losses share.
struct LossParts {
  std::string classes;  // the class of each row
  std::string ignored;  // whether the row is ignored; empty: no row is
  std::string weights;  // of each row; empty: all 1
};

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
        node.Where({parts.ignored, node.Number(0, dtype), parts.classes});
  }
  const DType dtype = node.TypeOf(0);
  if (node.HasInput(2)) {
    parts.weights = node.Gather({node.In(2), parts.classes});
  } else if (!parts.ignored.empty()) {
    parts.weights = node.Number(1, dtype);
  }
  if (!parts.ignored.empty()) {
    parts.weights =
        node.Where({parts.ignored, node.Number(0, dtype), parts.weights});
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
  const std::string rows = node.Unsqueeze(parts.classes, {1});
  const std::string picked =
      node.Append("gather_elements", {{"X", {logs}}, {"Index", {rows}}},
                  {{"axis", int64_t{1}}});
  std::string loss = node.Unary("squeeze", picked, {{"axes", Ints{1}}});
  if (!parts.weights.empty()) {
    loss = node.Binary("elementwise_mul", {loss, parts.weights});
  }
  if (!parts.ignored.empty()) {  // an ignored value may be infinite
    loss = node.Where({parts.ignored, node.Number(0, node.TypeOf(0)), loss});
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

// dy/dx for each value named by `xs`, at these values. Inputs with other values
// would replace them, which the program cannot express.
void Gradient(Node& node) {
  const auto xs = node.attributes().Strings("xs");
  const auto zs = node.attributes().Strings("zs");
  const std::string y = node.attributes().String("y", "");
  Names named = xs;
  named.insert(named.end(), zs.begin(), zs.end());
  for (int i = 0; i < node.input_count(); ++i) {
    if (static_cast<size_t>(i) >= named.size() || node.In(i) != named[i]) {
      Node::Unsupported("its input {} is not the value that xs or zs names", i);
    }
  }
  SLUICE_ENFORCE(static_cast<size_t>(node.output_count()) <= xs.size(),
                 ErrorCode::kInvalidArgument, "onnx.gradient_outputs",
                 "it has {} outputs, and attribute xs names {} values; "
                 "expected an output for each",
                 node.output_count(), xs.size());
  const DDim dims = node.DimsOf(y);
  if (!dims.known() || dims.numel() != 1) {
    Node::Unsupported("y has shape {}; expected one number", Printable(dims));
  }
  const auto gradients = node.AppendGradients(y, xs);
  for (int i = 0; i < node.output_count(); ++i) {
    if (!node.HasOutput(i)) continue;
    const std::string& gradient = gradients[static_cast<size_t>(i)];
    if (gradient.empty()) {
      Node::Unsupported("y does not depend on {}", xs[static_cast<size_t>(i)]);
    }
    node.FinishOutput(i, "assign", {{"X", {gradient}}});
  }
}

// Reductions of integers that the op rejects. They are computed in int64, where
// sums wrap modulo 2^64 like ONNX's, or in float64 if there is a root.
class IntegerReduction {
 public:
  // `axes` and `attributes` specify the reduced dims.
  IntegerReduction(Node* node, Inputs axes, AttributeMap attributes)
      : node_(*node),
        axes_(std::move(axes)),
        attributes_(std::move(attributes)),
        dtype_(node_.TypeOf(0)) {}

  void Finish(const std::string& op) {
    const std::string x = node_.Cast(node_.In(0), DType::kInt64);
    node_.FinishUnary("cast", Of(op, x), {{"dtype", dtype_}});
  }

 private:
  std::string Of(const std::string& op, const std::string& x) {
    if (op == "reduce_l1") {
      if (IsUnsigned(dtype_)) return Reduce("reduce_sum", x);
      return Reduce("reduce_sum", node_.Unary("abs", x));
    }
    if (op == "reduce_sum_square") return SumOfSquares(x);
    if (op == "reduce_l2") {
      const std::string number = node_.Cast(node_.In(0), DType::kFloat64);
      return node_.Unary("sqrt", SumOfSquares(number));
    }
    const bool large = dtype_ == DType::kUInt64;
    if (op == "reduce_mean") return Mean(x, large ? dtype_ : DType::kInt64);
    const bool best = op == "reduce_max" || op == "reduce_min";
    if (best && large) return Shifted(Reduce(op, Shifted(x)));
    if (best || op == "reduce_sum" || op == "reduce_prod") return Reduce(op, x);
    Node::Unsupported("its input is of {}", dtype_);
  }

  std::string Reduce(const std::string& op, const std::string& x) {
    Inputs inputs = axes_;
    inputs.insert(inputs.begin(), {"X", {x}});
    return node_.Append(op, std::move(inputs), attributes_);
  }

  std::string SumOfSquares(const std::string& x) {
    return Reduce("reduce_sum", node_.Binary("elementwise_mul", {x, x}));
  }

  // Divides the sum by the number of its terms, as this dtype, towards 0.
  std::string Mean(const std::string& x, DType dtype) {
    const std::string sum = Reduce("reduce_sum", x);
    const std::string count = Quotient(node_, Count(x), Count(sum));
    return Quotient(node_, node_.Cast(sum, dtype), node_.Cast(count, dtype));
  }

  std::string Count(const std::string& x) {
    return node_.Unary("reduce_prod", node_.Unary("shape", x));
  }

  // Maps uint64 to int64 in the same order, and back.
  std::string Shifted(const std::string& x) {
    const std::string least = node_.Whole(INT64_MIN);
    return node_.Binary("elementwise_add", {x, least});
  }

  Node& node_;
  Inputs axes_;
  AttributeMap attributes_;
  DType dtype_;
};

// `inputs` and `attributes` specify the axes.
void Reduce(Node& node, Inputs inputs, AttributeMap attributes) {
  const std::string op = FindCounterpart(node.type())->name();
  const DType dtype = node.TypeOf(0);
  attributes["keep_dim"] = node.attributes().Flag("keepdims", true);
  if (IsInteger(dtype) && !TakesDType(op, dtype)) {
    return IntegerReduction(&node, std::move(inputs), std::move(attributes))
        .Finish(op);
  }
  inputs.insert(inputs.begin(), {"X", {node.In(0)}});
  node.Finish(op, std::move(inputs), std::move(attributes));
}

// Reduces no dims, but still applies the op's function to each element.
void ReduceNothing(Node& node) {
  node.attributes().Ignore("keepdims");
  const std::string op = FindCounterpart(node.type())->name();
  const std::string x = node.In(0);
  if (op == "reduce_sum_square") {
    return node.FinishBinary("elementwise_mul", {x, x});
  }
  const bool is_size = op == "reduce_l1" || op == "reduce_l2";
  const char* element = "assign";
  if (is_size && !IsUnsigned(node.TypeOf(0))) element = "abs";
  if (op == "reduce_log_sum") element = "log";
  node.FinishUnary(element, x);
}

// Reads the axes from an attribute.
void ReduceOld(Node& node) {
  Reduce(node, {}, {{"dim", node.attributes().Ints("axes")}});
}

// Reads the axes from an input.
void ReduceNew(Node& node) {
  const bool nothing = node.attributes().Flag("noop_with_empty_axes");
  const bool given = node.HasInput(1) && node.Dims(1) != DDim{0};
  const bool late = given && node.Constant(1) == nullptr;
  if (late && !nothing) return Reduce(node, {{"Dim", {node.In(1)}}}, {});
  const Ints axes = given ? node.ConstantInts(1, "axes") : Ints();
  if (axes.empty() && nothing) return ReduceNothing(node);
  Reduce(node, {}, {{"dim", axes}});
}

}  // namespace

const HandlerTable kLossHandlers = {
    {"NegativeLogLikelihoodLoss", 12, NegativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", 12, SoftmaxCrossEntropyLoss},
    {"ai.onnx.preview.training.Gradient", 1, Gradient},
    {"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
     "ReduceMin ReduceProd ReduceSum ReduceSumSquare",
     1, ReduceOld},
    {"ReduceSum", 13, ReduceNew},
    {"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
     "ReduceMin ReduceProd ReduceSumSquare",
     18, ReduceNew},
};

}  // namespace sluice::onnx
