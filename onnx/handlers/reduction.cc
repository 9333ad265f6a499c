#include <cstdint>
#include <string>
#include <utility>

#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/import/counterpart.h"
#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

std::string ProductOf(Node& node, const std::string& x) {
  return node.Binary("elementwise_mul", {x, x});
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
    if (op == "reduce_sum_square") {
      return Reduce("reduce_sum", ProductOf(node_, x));
    }
    if (op == "reduce_l2") {
      const std::string number = node_.Cast(node_.In(0), DType::kFloat64);
      const std::string sum = Reduce("reduce_sum", ProductOf(node_, number));
      return node_.Unary("sqrt", sum);
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
  attributes["keep_dim"] = node.attributes().Int("keepdims", 1) != 0;
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
  const bool nothing = node.attributes().Int("noop_with_empty_axes", 0) != 0;
  const bool given = node.HasInput(1) && node.Dims(1) != DDim{0};
  const bool late = given && node.Constant(1) == nullptr;
  if (late && !nothing) return Reduce(node, {{"Dim", {node.In(1)}}}, {});
  const Ints axes = given ? node.ConstantInts(1, "axes") : Ints();
  if (axes.empty() && nothing) return ReduceNothing(node);
  Reduce(node, {}, {{"dim", axes}});
}

constexpr HandlerRow kReductionRows[] = {
    {"ReduceL1", 1, ReduceOld},        {"ReduceL1", 18, ReduceNew},
    {"ReduceL2", 1, ReduceOld},        {"ReduceL2", 18, ReduceNew},
    {"ReduceLogSum", 1, ReduceOld},    {"ReduceLogSum", 18, ReduceNew},
    {"ReduceLogSumExp", 1, ReduceOld}, {"ReduceLogSumExp", 18, ReduceNew},
    {"ReduceMax", 1, ReduceOld},       {"ReduceMax", 18, ReduceNew},
    {"ReduceMean", 1, ReduceOld},      {"ReduceMean", 18, ReduceNew},
    {"ReduceMin", 1, ReduceOld},       {"ReduceMin", 18, ReduceNew},
    {"ReduceProd", 1, ReduceOld},      {"ReduceProd", 18, ReduceNew},
    {"ReduceSum", 1, ReduceOld},       {"ReduceSum", 13, ReduceNew},
    {"ReduceSumSquare", 1, ReduceOld}, {"ReduceSumSquare", 18, ReduceNew},
};

}  // namespace

std::span<const HandlerRow> ReductionHandlers() {
  return kReductionRows;
}

}  // namespace sluice::onnx
