#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/operators/contraction/einsum.h"

namespace sluice::onnx {

namespace {

// Bits `16 * i` to `16 * i + 15` of integers, as float64.
std::string PartOf(Node& node, const std::string& x, int i) {
  std::string bits = node.Cast(x, DType::kInt64);
  if (i > 0) {
    bits =
        node.Binary("bitwise_right_shift", {bits, node.Whole(int64_t{16} * i)});
  }
  return node.Cast(node.Binary("bitwise_and", {bits, node.Whole(0xFFFF)}),
                   DType::kFloat64);
}

// The product of integer matrices, modulo 2^bits of their dtype. It is computed
// from 16-bit parts, whose products float64 adds exactly.
std::string IntegerProduct(Node& node,
                           const std::string& x,
                           const std::string& y,
                           const AttributeMap& transposed) {
  const DType dtype = node.DTypeOf(x);
  const int parts = SizeOf(dtype) > 4 ? 4 : 2;
  Names left, right;
  for (int i = 0; i < parts; ++i) {
    left.push_back(PartOf(node, x, i));
    right.push_back(PartOf(node, y, i));
  }
  std::string sum;
  for (int i = 0; i < parts; ++i) {
    for (int k = 0; i + k < parts; ++k) {
      const Node::Operands factors = {left[static_cast<size_t>(i)],
                                      right[static_cast<size_t>(k)]};
      std::string product =
          node.Cast(node.Binary("matmul", factors, transposed), DType::kInt64);
      const std::string place = node.Whole(int64_t{1} << (16 * (i + k)));
      product = node.Binary("elementwise_mul", {product, place});
      sum = sum.empty() ? product
                        : node.Binary("elementwise_add", {sum, product});
    }
  }
  return node.Cast(sum, dtype);
}

// Sums of up to 2^21 products of these parts are exact in float64.
void CheckTerms(const Node& node, bool transposed) {
  constexpr int64_t kMostTerms = int64_t{1} << 21;
  const DDim x = node.Dims(0);
  const int axis = x.rank() - (transposed && x.rank() > 1 ? 2 : 1);
  if (axis >= 0 && x[axis] > kMostTerms) {
    Node::Unsupported("sums of {} products of integers; at most {} are exact",
                      x[axis], kMostTerms);
  }
}

void MatMul(Node& node) {
  if (!IsInteger(node.TypeOf(0))) {
    return node.FinishBinary("matmul", {node.In(0), node.In(1)});
  }
  CheckTerms(node, false);
  node.FinishUnary("assign", IntegerProduct(node, node.In(0), node.In(1), {}));
}

// Multiplies x by a number, which must be an integer for integer x.
std::string Times(Node& node, const std::string& x, double number) {
  if (number == 1) return x;
  const DType dtype = node.DTypeOf(x);
  if (!IsInteger(dtype)) {
    return node.Unary("scale", x, {{"scale", number}});
  }
  if (number != std::trunc(number)) {
    Node::Unsupported("attributes alpha and beta of integers, one of them {}",
                      number);
  }
  const std::string factor = node.Number(number, dtype);
  return node.Binary("elementwise_mul", {x, factor});
}

// alpha * A * B + beta * C, with A and B of rank 2, possibly transposed.
void Gemm(Node& node) {
  const double alpha = node.attributes().Float("alpha", 1.0);
  const double beta = node.attributes().Float("beta", 1.0);
  AttributeMap attributes = {{"transpose_X", node.attributes().Flag("transA")},
                             {"transpose_Y", node.attributes().Flag("transB")}};
  for (int i = 0; i < 2; ++i) {
    const int rank = RankOf(node, i);
    SLUICE_ENFORCE(rank == 2, ErrorCode::kInvalidArgument, "onnx.gemm_rank",
                   "input {} has {} dims; expected a matrix", i, rank);
  }
  std::string product;
  if (IsInteger(node.TypeOf(0))) {
    CheckTerms(node, std::get<bool>(attributes["transpose_X"]));
    product = Times(
        node, IntegerProduct(node, node.In(0), node.In(1), attributes), alpha);
    if (!node.HasInput(2)) return node.FinishUnary("assign", product);
  } else {
    attributes["alpha"] = alpha;
    const Node::Operands factors = {node.In(0), node.In(1)};
    if (!node.HasInput(2)) {
      return node.FinishBinary("matmul", factors, attributes);
    }
    product = node.Binary("matmul", factors, attributes);
  }
  node.FinishBinary("elementwise_add",
                    {product, Times(node, node.In(2), beta)});
}

// The inverse of each matrix: its cofactors, transposed, over its determinant.
// They are the gradient of the determinant, whose size is kept near 1: matrices
// are divided by the root of the mean square norm of their rows.
void Inverse(Node& node) {
  const auto over = [&node](const std::string& x, const std::string& y) {
    return node.Binary("elementwise_div", {x, y});
  };
  const AttributeMap rows = {{"dim", Ints{-1}}, {"keep_dim", true}};
  const AttributeMap columns = {{"dim", Ints{-2}}, {"keep_dim", true}};
  const std::string x = node.Cast(node.In(0), DType::kFloat64);
  const std::string norms =
      node.Unary("reduce_sum", node.Unary("square", x), rows);
  const std::string size =
      node.Unary("sqrt", node.Unary("reduce_mean", norms, columns));
  const std::string even = over(x, size);
  const std::string share =
      node.Unary("reciprocal", node.Unary("determinant", even));
  const std::string cofactors = node.Append(
      "determinant_grad", {{"X", {even}}, {"Out@GRAD", {share}}}, {}, "X@GRAD");
  Ints order(static_cast<size_t>(RankOf(node, 0)));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order.end()[-1], order.end()[-2]);
  node.FinishUnary("cast", over(node.Transpose(cofactors, order), size),
                   {{"dtype", node.TypeOf(0)}});
}

// Appends the ops of a node.
class NodeEinsum : public EinsumWriter {
 public:
  explicit NodeEinsum(Node* node) : node_(*node) {}

  std::string Append(const std::string& type,
                     Inputs inputs,
                     AttributeMap attributes) override {
    return node_.Append(type, std::move(inputs), std::move(attributes));
  }
  std::string AppendLast(const std::string& type,
                         const std::string& x,
                         AttributeMap attributes) override {
    node_.FinishUnary(type, x, std::move(attributes));
    return node_.Out(0);
  }
  DDim DimsOf(const std::string& variable) const override {
    return node_.DimsOf(variable);
  }
  DType DTypeOf(const std::string& variable) const override {
    return node_.DTypeOf(variable);
  }

 private:
  Node& node_;
};

void Einsum(Node& node) {
  Names inputs;
  for (int i = 0; i < node.input_count(); ++i) {
    RankOf(node, i);  // raises if the rank is unknown
    inputs.push_back(node.In(i));
  }
  NodeEinsum writer(&node);
  WriteEinsum(node.attributes().String("equation", ""), inputs, &writer);
}

}  // namespace

const HandlerTable kContractionHandlers = {
    {"Gemm", 7, Gemm},
    {"MatMul", 1, MatMul},
    {"Einsum", 12, Einsum},
    {"com.microsoft.Inverse", 1, Inverse},
};

}  // namespace sluice::onnx
