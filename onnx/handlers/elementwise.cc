#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/onnx/handlers/affine.h"
#include "sluice/onnx/handlers/hard_swish.h"
#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

template <const char* const& kType>
void Binary(Node& node) {
  node.FinishBinary(kType, {node.In(0), node.In(1)});
}

constexpr const char* kDiv = "elementwise_div";
constexpr const char* kPow = "elementwise_pow";
constexpr const char* kAdd = "elementwise_add";
constexpr const char* kMul = "elementwise_mul";
constexpr const char* kMax = "elementwise_max";
constexpr const char* kMin = "elementwise_min";

void Add(Node& node) {
  if (FoldIntoBatchNorm(node, AffineKind::kAdd)) return;
  if (ImportScale(node, AffineKind::kAdd)) return;
  Binary<kAdd>(node);
}

void Mul(Node& node) {
  if (FoldIntoBatchNorm(node, AffineKind::kMultiply)) return;
  if (ImportScale(node, AffineKind::kMultiply)) return;
  Binary<kMul>(node);
}

// Integers are divided like in C, towards 0.
void Div(Node& node) {
  if (NumberFor(node, 1, 0) == 6 && ImportHardSwish(node)) return;
  if (IsFloating(node.TypeOf(0))) return Binary<kDiv>(node);
  node.Finish("elementwise_floordiv",
              QuotientInputs(node, node.In(0), node.In(1)));
}

void Mod(Node& node) {
  const bool fmod = node.attributes().Int("fmod", 0) != 0;
  node.FinishBinary(fmod ? "elementwise_fmod" : "elementwise_mod",
                    {node.In(0), node.In(1)});
}

void BitShift(Node& node) {
  const std::string direction = node.attributes().String("direction", "");
  SLUICE_ENFORCE(direction == "LEFT" || direction == "RIGHT",
                 ErrorCode::kInvalidArgument, "onnx.bit_shift",
                 "attribute direction is '{}'; expected LEFT or RIGHT",
                 direction);
  node.FinishBinary(
      direction == "LEFT" ? "bitwise_left_shift" : "bitwise_right_shift",
      {node.In(0), node.In(1)});
}

// The number of bits of integers that a float dtype represents exactly.
int WholeBits(DType dtype) {
  if (dtype == DType::kFloat64) return 53;
  if (dtype == DType::kFloat32) return 24;
  return dtype == DType::kFloat16 ? 11 : 8;
}

// Returns whether a float dtype represents all integer exponents of input 1.
bool HoldsExponents(const Node& node, DType dtype) {
  const int bits = WholeBits(dtype);
  const auto size = static_cast<int>(8 * SizeOf(node.TypeOf(1)));
  if (size <= bits) return true;
  const Tensor* constant = node.Constant(1);
  if (constant == nullptr) return false;
  const std::vector<double> values = ToDoubles(*constant);
  return std::all_of(values.begin(), values.end(), [bits](double value) {
    return std::abs(value) <= std::ldexp(1.0, bits);
  });
}

// The dtype in which neither a base nor an exponent of another dtype is
// rounded. Integers are modulo 2^64.
DType DTypeOfPower(const Node& node) {
  const DType base = node.TypeOf(0), exponent = node.TypeOf(1);
  if (IsInteger(base) && IsInteger(exponent)) {
    return exponent == DType::kUInt64 ? exponent : DType::kInt64;
  }
  if (IsInteger(base)) return DType::kFloat64;
  if (IsInteger(exponent)) {
    return HoldsExponents(node, base) ? base : DType::kFloat64;
  }
  if (SizeOf(base) == SizeOf(exponent)) {
    return DType::kFloat32;  // float16 and bfloat16
  }
  return SizeOf(base) > SizeOf(exponent) ? base : exponent;
}

// The result has the base's dtype.
void Pow(Node& node) {
  const Inputs x = {{"X", {node.In(0)}}};
  const std::optional<double> exponent = NumberFor(node, 1, 0);
  if (exponent == 2) return node.Finish("square", x);
  if (exponent == 1) return node.Finish("assign", x);
  const DType base = node.TypeOf(0);
  if (base == node.TypeOf(1)) return Binary<kPow>(node);
  const DType dtype = DTypeOfPower(node);
  const Inputs operands = {{"X", {node.Cast(node.In(0), dtype)}},
                           {"Y", {node.Cast(node.In(1), dtype)}}};
  node.FinishUnary("cast", node.Append(kPow, operands), {{"dtype", base}});
}

// Appends one op for each input after the first.
template <const char* const& kType>
void Chain(Node& node) {
  std::string result = node.In(0);
  const int count = node.input_count();
  if (count == 1) return node.FinishUnary("assign", result);
  for (int i = 1; i + 1 < count; ++i) {
    result = node.Binary(kType, {result, node.In(i)});
  }
  node.FinishBinary(kType, {result, node.In(count - 1)});
}

void IsInf(Node& node) {
  const DType dtype = node.TypeOf(0);
  SLUICE_ENFORCE(!IsInteger(dtype) && dtype != DType::kBool,
                 ErrorCode::kInvalidArgument, "onnx.is_inf_dtype",
                 "its input 0 is of {}; expected floats", dtype);
  const bool positive = node.attributes().Int("detect_positive", 1) != 0;
  const bool negative = node.attributes().Int("detect_negative", 1) != 0;
  if (positive && negative) {
    return node.FinishUnary("isinf", node.In(0));
  }
  const double sign = negative ? -1 : 1;
  const std::string infinity =
      node.Number(sign * std::numeric_limits<double>::infinity(), dtype);
  // If neither counts, the result is false: nothing exceeds infinity.
  node.FinishBinary(positive || negative ? "equal" : "greater_than",
                    {node.In(0), infinity});
}

void Gelu(Node& node) {
  const std::string kind = node.attributes().String("approximate", "none");
  SLUICE_ENFORCE(kind == "none" || kind == "tanh", ErrorCode::kInvalidArgument,
                 "onnx.gelu",
                 "attribute approximate is {}; expected none or "
                 "tanh",
                 Shown(kind));
  node.FinishUnary("gelu", node.In(0), {{"approximate", kind == "tanh"}});
}

// ONNX's defaults are float32 numbers, the op's are not.
void Selu(Node& node) {
  node.FinishUnary(
      "selu", node.In(0),
      {{"scale", node.attributes().Float("gamma", 1.0507010221481323)},
       {"alpha", node.attributes().Float("alpha", 1.6732631921768188)}});
}

// Computes A * sigmoid(alpha * A) * B.
void SwiGlu(Node& node) {
  const std::string swish = node.Unary(
      "swish", node.In(0), {{"beta", node.attributes().Float("alpha", 1)}});
  node.FinishBinary(kMul, {swish, node.In(1)});
}

// The sum of all inputs. One op adds inputs of the same shape, which must be
// known: unknown sizes may differ, so that one needs a broadcast.
std::string SumOf(Node& node, bool finish) {
  ArgVars all = {node.In(0)};
  bool same = node.input_count() == 1 || node.Dims(0).known();
  for (int i = 1; i < node.input_count(); ++i) {
    all.push_back(node.In(i));
    same = same && node.Dims(i) == node.Dims(0);
  }
  if (same) {
    if (!finish) return node.Append("sum", {{"X", all}});
    node.Finish("sum", {{"X", all}});
    return "";
  }
  std::string sum = all[0];
  for (size_t i = 1; i < all.size(); ++i) {
    const Inputs pair = {{"X", {sum}}, {"Y", {all[i]}}};
    if (finish && i + 1 == all.size()) {
      node.Finish(kAdd, pair);
    } else {
      sum = node.Append(kAdd, pair);
    }
  }
  return sum;
}

void Sum(Node& node) {
  SumOf(node, true);
}

void Mean(Node& node) {
  const std::string sum = SumOf(node, false);
  node.FinishUnary("scale", sum, {{"scale", 1.0 / node.input_count()}});
}

// Default bounds are the limits of float32. If min exceeds max, all numbers
// become max.
void Clip6(Node& node) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const double max = node.attributes().Float("max", kMost);
  const double min = std::min(node.attributes().Float("min", -kMost), max);
  node.FinishUnary("clip", node.In(0), {{"min", min}, {"max", max}});
}

// Handles integers: attributes of clip cannot represent those beyond 2^53.
void ClipIntegers(Node& node) {
  const auto bound = [&node](int index) {
    return node.Unary("reshape", node.In(index), {{"shape", Ints()}});
  };
  std::string x = node.In(0);
  if (node.HasInput(1)) x = node.Binary(kMax, {x, bound(1)});
  if (!node.HasInput(2)) return node.FinishUnary("assign", x);
  node.FinishBinary(kMin, {x, bound(2)});
}

// From opset 11 on the bounds are inputs.
void Clip11(Node& node) {
  if (IsInteger(node.TypeOf(0))) return ClipIntegers(node);
  Inputs inputs = {{"X", {node.In(0)}}};
  if (node.HasInput(1)) {
    std::string min = node.In(1);
    if (node.HasInput(2)) {
      min = node.Binary(kMin, {min, node.In(2)});
    }
    inputs.push_back({"Min", {min}});
  }
  if (node.HasInput(2)) inputs.push_back({"Max", {node.In(2)}});
  node.Finish("clip", std::move(inputs));
}

// Integers that the op rejects are computed in int64.
void OfSign(Node& node, const char* op) {
  const DType dtype = node.TypeOf(0);
  const std::string& x = node.In(0);
  if (!IsInteger(dtype) || TakesDType(op, dtype)) {
    return node.FinishUnary(op, x);
  }
  const std::string result = node.Unary(op, node.Cast(x, DType::kInt64));
  node.FinishUnary("cast", result, {{"dtype", dtype}});
}

void Abs(Node& node) {
  if (!IsUnsigned(node.TypeOf(0))) return OfSign(node, "abs");
  node.FinishUnary("assign", node.In(0));
}

void Neg(Node& node) {
  OfSign(node, "neg");
}

// The sign of an unsigned number is 0 or 1.
void Sign(Node& node) {
  const DType dtype = node.TypeOf(0);
  if (!IsUnsigned(dtype)) return OfSign(node, "sign");
  node.FinishUnary("cast", node.Cast(node.In(0), DType::kBool),
                   {{"dtype", dtype}});
}

void Relu(Node& node) {
  const DType dtype = node.TypeOf(0);
  const std::string x = node.In(0);
  if (!IsInteger(dtype)) return node.FinishUnary("relu", x);
  node.FinishBinary(kMax, {x, node.Number(0, dtype)});
}

void PRelu(Node& node) {
  const DType dtype = node.TypeOf(0);
  const Inputs operands = {{"X", {node.In(0)}}, {"Y", {node.In(1)}}};
  if (!IsInteger(dtype)) return node.Finish("prelu", operands);
  const std::string negative =
      node.Binary("less_than", {node.In(0), node.Number(0, dtype)});
  node.Finish("where", {{"Condition", {negative}},
                        {"X", {node.Append(kMul, operands)}},
                        {"Y", {node.In(0)}}});
}

// Operators without a row use schemas (import/counterpart.h).
constexpr HandlerRow kElementwiseRows[] = {
    {"Abs", 6, Abs},    {"Add", 7, Add},         {"BitShift", 11, BitShift},
    {"Clip", 6, Clip6}, {"Clip", 11, Clip11},    {"Div", 7, Div},
    {"Gelu", 20, Gelu}, {"IsInf", 10, IsInf},    {"Max", 6, Chain<kMax>},
    {"Mean", 6, Mean},  {"Min", 6, Chain<kMin>}, {"Mod", 10, Mod},
    {"Mul", 7, Mul},    {"Neg", 6, Neg},         {"PRelu", 7, PRelu},
    {"Pow", 7, Pow},    {"Relu", 6, Relu},       {"Selu", 6, Selu},
    {"Sign", 9, Sign},  {"Sum", 6, Sum},         {"SwiGLU", 1, SwiGlu},
};

}  // namespace

std::span<const HandlerRow> ElementwiseHandlers() {
  return kElementwiseRows;
}

}  // namespace sluice::onnx
