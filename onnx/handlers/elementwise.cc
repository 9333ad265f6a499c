#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// The operation of a node on its two inputs.
enum class AffineKind : uint8_t { kMultiply, kAdd };

using Floats = std::vector<float>;

// The constant as one number for each of `channels` in dim 1 of an image of
// this rank; empty if it has no such form.
Floats PerChannel(const Tensor& constant, int rank, int64_t channels) {
  if (constant.dtype() != DType::kFloat32 || constant.dims().rank() > rank) {
    return {};
  }
  const DDim& dims = constant.dims();
  for (int axis = 0; axis < dims.rank(); ++axis) {
    const bool of_channels = axis + rank - dims.rank() == 1;
    if (dims[axis] != 1 && !(of_channels && dims[axis] == channels)) return {};
  }
  Floats values = constant.ToVector<float>();
  if (!std::all_of(values.begin(), values.end(),
                   [](float value) { return std::isfinite(value); })) {
    return {};
  }
  if (values.size() == 1) {
    values.resize(static_cast<size_t>(channels), values[0]);
  }
  return values;
}

double Number(const OpDesc& op, const char* attribute) {
  return std::get<double>(op.attributes.at(attribute));
}

// Returns whether `variable` is clip(x + 3, 0, 6).
bool IsGate(const Node& node,
            const std::string& variable,
            const std::string& x) {
  const OpDesc* clip = node.OnlyReadOnce(variable);
  if (clip == nullptr || clip->type != "clip" || !clip->Input("Min").empty() ||
      !clip->Input("Max").empty() || Number(*clip, "min") != 0 ||
      Number(*clip, "max") != 6) {
    return false;
  }
  const OpDesc* sum = node.OnlyReadOnce(clip->Input("X")[0]);
  return sum != nullptr && sum->type == "scale" && Number(*sum, "scale") == 1 &&
         Number(*sum, "bias") == 3 && sum->Input("X")[0] == x;
}
// Folds a Mul or Add of a number for each channel, or one for all, into the
// batch norm before it: appends a batch norm with changed Scale and Bias, which
// replaces the old one. Returns false unless the batch norm has constant
// parameters, nothing else reads its result, and the numbers are constants.
bool FoldIntoBatchNorm(Node& node, AffineKind kind) {
  const int norm_input = node.Constant(0) == nullptr ? 0 : 1;
  const Tensor* constant = node.Constant(1 - norm_input);
  const OpDesc* norm = node.OnlyReadHere(norm_input);
  if (constant == nullptr || norm == nullptr || norm->type != "batch_norm") {
    return false;
  }
  const Tensor* scale = node.ConstantOf(norm->Input("Scale")[0]);
  const Tensor* bias = node.ConstantOf(norm->Input("Bias")[0]);
  const int rank = node.Dims(norm_input).rank();
  if (scale == nullptr || bias == nullptr || rank < 2 ||
      scale->dtype() != DType::kFloat32 || bias->dtype() != DType::kFloat32) {
    return false;
  }
  const Floats values = PerChannel(*constant, rank, scale->numel());
  if (values.empty()) return false;
  Floats new_scale = scale->ToVector<float>();
  Floats new_bias = bias->ToVector<float>();
  for (size_t c = 0; c < values.size(); ++c) {
    if (kind == AffineKind::kMultiply) {
      new_scale[c] *= values[c];
      new_bias[c] *= values[c];
    } else {
      new_bias[c] += values[c];
    }
  }
  const OpDesc before = *norm;  // a copy: Finish adds an op
  const std::string scale_name =
      node.NewConstant(Tensor::FromVector(scale->dims(), new_scale));
  const std::string bias_name =
      node.NewConstant(Tensor::FromVector(bias->dims(), new_bias));
  node.Finish("batch_norm",
              {{"X", before.Input("X")},
               {"Scale", {scale_name}},
               {"Bias", {bias_name}},
               {"Mean", before.Input("Mean")},
               {"Variance", before.Input("Variance")}},
              before.attributes, "Y",
              {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"});
  return true;
}

// The value of a constant of one element for an input of this shape; nullopt
// for other inputs, for integers and for numbers that are not finite.
std::optional<double> NumberFor(const Node& node, int constant, int input) {
  const Tensor* value = node.Constant(constant);
  if (value == nullptr || value->numel() != 1 ||
      value->dtype() != DType::kFloat32 || node.Constant(input) != nullptr ||
      value->dims().rank() > std::max(node.Dims(input).rank(), 0)) {
    return std::nullopt;
  }
  const double number = value->data<float>()[0];
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Imports a Mul or Add of one constant number as op `scale`. An Add after such
// a Mul becomes part of the same op. Returns whether it did. The result has the
// same bits.
bool ImportScale(Node& node, AffineKind kind) {
  const int input = node.Constant(0) == nullptr ? 0 : 1;
  const std::optional<double> number = NumberFor(node, 1 - input, input);
  if (!number) return false;
  if (kind == AffineKind::kMultiply) {
    node.FinishUnary("scale", node.In(input), {{"scale", *number}});
    return true;
  }
  const OpDesc* before = node.OnlyReadHere(input);
  std::string x = node.In(input);
  double scale = 1;
  if (before != nullptr && before->type == "scale" &&
      std::get<double>(before->attributes.at("bias")) == 0) {
    x = before->Input("X")[0];
    scale = std::get<double>(before->attributes.at("scale"));
  }
  node.FinishUnary("scale", x, {{"scale", scale}, {"bias", *number}});
  return true;
}

// Imports a division by 6 of input 0 = x * clip(x + 3, 0, 6) as hard_swish of
// x. Returns false if anything else reads an intermediate value. Exporters
// without HardSwish write this.
bool ImportHardSwish(Node& node) {
  if (NumberFor(node, 1, 0) != 6) return false;
  const OpDesc* product = node.OnlyReadHere(0);
  if (product == nullptr || product->type != "elementwise_mul") return false;
  const std::string left = product->Input("X")[0];
  const std::string right = product->Input("Y")[0];
  if (!IsGate(node, right, left) && !IsGate(node, left, right)) return false;
  node.FinishUnary("hard_swish", IsGate(node, right, left) ? left : right);
  return true;
}

// Finishes with this op of inputs 0 and 1.
void FinishOf(Node& node, const char* op) {
  node.FinishBinary(op, {node.In(0), node.In(1)});
}

constexpr const char* kPow = "elementwise_pow";
constexpr const char* kAdd = "elementwise_add";
constexpr const char* kMul = "elementwise_mul";
constexpr const char* kMax = "elementwise_max";
constexpr const char* kMin = "elementwise_min";

void Add(Node& node) {
  if (FoldIntoBatchNorm(node, AffineKind::kAdd)) return;
  if (ImportScale(node, AffineKind::kAdd)) return;
  FinishOf(node, kAdd);
}

void Mul(Node& node) {
  if (FoldIntoBatchNorm(node, AffineKind::kMultiply)) return;
  if (ImportScale(node, AffineKind::kMultiply)) return;
  FinishOf(node, kMul);
}

// Integers are divided like in C, towards 0.
void Div(Node& node) {
  if (ImportHardSwish(node)) return;
  if (IsFloating(node.TypeOf(0))) return FinishOf(node, "elementwise_div");
  node.Finish("elementwise_floordiv",
              QuotientInputs(node, node.In(0), node.In(1)));
}

void Mod(Node& node) {
  const bool fmod = node.attributes().Flag("fmod");
  FinishOf(node, fmod ? "elementwise_fmod" : "elementwise_mod");
}

void BitShift(Node& node) {
  const std::string direction = node.attributes().String("direction", "");
  SLUICE_ENFORCE(direction == "LEFT" || direction == "RIGHT",
                 ErrorCode::kInvalidArgument, "onnx.bit_shift",
                 "attribute direction is '{}'; expected LEFT or RIGHT",
                 direction);
  FinishOf(node,
           direction == "LEFT" ? "bitwise_left_shift" : "bitwise_right_shift");
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

// Integers of 64 bits to the power of floats: those powers whose exponents are
// whole are products of integers, which float64 would round.
void PowOfIntegers(Node& node, const std::string& in_float64) {
  const DType base = node.TypeOf(0), float_type = node.TypeOf(1);
  const std::string y = node.In(1), whole = node.Cast(y, DType::kInt64);
  const std::string exact = node.Cast(
      node.Binary(kPow, {node.Cast(node.In(0), DType::kInt64), whole}), base);
  node.Finish(
      "where",
      {{"Condition", {node.Binary("equal", {y, node.Cast(whole, float_type)})}},
       {"X", {exact}},
       {"Y", {node.Cast(in_float64, base)}}});
}

// The result has the base's dtype.
void Pow(Node& node) {
  const std::string x = node.In(0);
  const std::optional<double> exponent = NumberFor(node, 1, 0);
  const DType base = node.TypeOf(0);
  if (exponent == 1) return node.FinishUnary("assign", x);
  if (exponent == 2) return node.FinishUnary("square", x);
  if (exponent == 3 && (base == DType::kFloat32 || base == DType::kFloat64)) {
    return node.FinishBinary(kMul, {node.Unary("square", x), x});
  }
  if (base == node.TypeOf(1)) return FinishOf(node, kPow);
  const DType dtype = DTypeOfPower(node);
  const std::string power =
      node.Binary(kPow, {node.Cast(x, dtype), node.Cast(node.In(1), dtype)});
  if (dtype == DType::kFloat64 && IsInteger(base) && SizeOf(base) == 8) {
    return PowOfIntegers(node, power);
  }
  node.FinishUnary("cast", power, {{"dtype", base}});
}

// Appends one op for each input after the first.
void Chain(Node& node, const std::string& op) {
  std::string result = node.In(0);
  const int count = node.input_count();
  if (count == 1) return node.FinishUnary("assign", result);
  for (int i = 1; i + 1 < count; ++i) {
    result = node.Binary(op, {result, node.In(i)});
  }
  node.FinishBinary(op, {result, node.In(count - 1)});
}

void Best(Node& node) {
  Chain(node, FindCounterpart(node.type())->name());
}

void IsInf(Node& node) {
  const DType dtype = node.TypeOf(0);
  SLUICE_ENFORCE(!IsInteger(dtype) && dtype != DType::kBool,
                 ErrorCode::kInvalidArgument, "onnx.is_inf_dtype",
                 "its input 0 is of {}; expected floats", dtype);
  const bool positive = node.attributes().Flag("detect_positive", true);
  const bool negative = node.attributes().Flag("detect_negative", true);
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

// Whether one op adds the terms: their shapes are known and the same. Unknown
// sizes may differ, so that one needs a broadcast.
bool AreAlike(const Node& node, const ArgVars& terms) {
  const DDim dims = node.DimsOf(terms[0]);
  return terms.size() == 1 ||
         (dims.known() &&
          std::all_of(terms.begin(), terms.end(), [&](const auto& term) {
            return node.DimsOf(term) == dims;
          }));
}

void Sum(Node& node) {
  node.In(0);  // raises if there is none
  const ArgVars terms = node.AllInputs();
  if (!AreAlike(node, terms)) return Chain(node, kAdd);
  node.Finish("sum", {{"X", terms}});
}

// Sums of 32 bits are finite in float64; terms of float64 are divided first.
void Mean(Node& node) {
  const DType dtype = node.TypeOf(0);
  const AttributeMap share = {{"scale", 1.0 / node.input_count()}};
  const bool wide = dtype == DType::kFloat64;
  ArgVars terms = node.AllInputs();
  for (std::string& term : terms) {
    term = node.Cast(term, DType::kFloat64);
    if (wide) term = node.Unary("scale", term, share);
  }
  std::string sum = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    sum = node.Binary(kAdd, {sum, terms[i]});
  }
  node.FinishUnary("cast", wide ? sum : node.Unary("scale", sum, share),
                   {{"dtype", dtype}});
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
    return node.Reshape(node.In(index), {});
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
void OfSign(Node& node) {
  const std::string& op = FindCounterpart(node.type())->name();
  const DType dtype = node.TypeOf(0);
  const std::string& x = node.In(0);
  if (!IsInteger(dtype) || TakesDType(op, dtype)) {
    return node.FinishUnary(op, x);
  }
  const std::string result = node.Unary(op, node.Cast(x, DType::kInt64));
  node.FinishUnary("cast", result, {{"dtype", dtype}});
}

void Abs(Node& node) {
  if (!IsUnsigned(node.TypeOf(0))) return OfSign(node);
  node.FinishUnary("assign", node.In(0));
}

// The sign of an unsigned number is 0 or 1.
void Sign(Node& node) {
  const DType dtype = node.TypeOf(0);
  if (!IsUnsigned(dtype)) return OfSign(node);
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
  if (!IsInteger(dtype)) return FinishOf(node, "prelu");
  const std::string negative =
      node.Binary("less_than", {node.In(0), node.Number(0, dtype)});
  node.Finish("where", {{"Condition", {negative}},
                        {"X", {node.Binary(kMul, {node.In(0), node.In(1)})}},
                        {"Y", {node.In(0)}}});
}

void CastTo(Node& node, DType dtype) {
  Attributes& attributes = node.attributes();
  const bool saturate = attributes.Flag("saturate", true);
  const std::string round_mode = attributes.String("round_mode", "up");
  const std::string x = node.In(0);
  if (node.DTypeOf(x) == dtype) return node.FinishUnary("assign", x);
  node.FinishUnary(
      "cast", x,
      {{"dtype", dtype}, {"saturate", saturate}, {"round_mode", round_mode}});
}

void Cast(Node& node) {
  CastTo(node, node.attributes().NeededType("to"));
}

void CastLike(Node& node) {
  CastTo(node, node.TypeOf(1));
}

void BitCast(Node& node) {
  const DType to = node.attributes().NeededType("to");
  node.FinishUnary("bitcast", node.In(0), {{"dtype", to}});
}

}  // namespace

const HandlerTable kElementwiseHandlers = {
    {"Abs", 1, Abs},
    {"Add", 7, Add},
    {"BitShift", 11, BitShift},
    {"Clip", 1, Clip6},
    {"Clip", 11, Clip11},
    {"Div", 7, Div},
    {"Gelu", 20, Gelu},
    {"IsInf", 10, IsInf},
    {"Max Min", 1, Best},
    {"Mean", 1, Mean},
    {"Mod", 10, Mod},
    {"Mul", 7, Mul},
    {"Neg", 1, OfSign},
    {"PRelu", 7, PRelu},
    {"Pow", 7, Pow},
    {"Relu", 1, Relu},
    {"Selu", 6, Selu},
    {"Sign", 9, Sign},
    {"Sum", 1, Sum},
    {"SwiGLU", 1, SwiGlu},
    {"BitCast", 26, BitCast},
    {"Cast", 6, Cast},
    {"CastLike", 15, CastLike},
};

}  // namespace sluice::onnx
