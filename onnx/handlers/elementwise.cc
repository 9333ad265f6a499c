#include <cmath>
#include <limits>
#include <string>

#include "sluice/onnx/handlers/affine.h"
#include "sluice/onnx/handlers/hard_swish.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice::onnx {

namespace {

template <const char* const& kType>
void Binary(Node& node) {
  node.Finish(kType, {{"X", {node.In(0)}}, {"Y", {node.In(1)}}});
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

// Integers are divided as in C, towards 0: what fmod leaves divides exactly.
void Div(Node& node) {
  if (NumberFor(node, 1, 0) == 6 && ImportHardSwish(node)) return;
  if (platform::IsFloating(node.TypeOf(0))) return Binary<kDiv>(node);
  const std::string y = node.In(1);
  const std::string rest =
      node.Append("elementwise_fmod", {{"X", {node.In(0)}}, {"Y", {y}}});
  const std::string multiple =
      node.Append("elementwise_sub", {{"X", {node.In(0)}}, {"Y", {rest}}});
  node.Finish("elementwise_floordiv", {{"X", {multiple}}, {"Y", {y}}});
}

void Mod(Node& node) {
  const bool fmod = node.attributes().Int("fmod", 0) != 0;
  node.Finish(fmod ? "elementwise_fmod" : "elementwise_mod",
              {{"X", {node.In(0)}}, {"Y", {node.In(1)}}});
}

void BitShift(Node& node) {
  const std::string direction = node.attributes().String("direction", "");
  SLUICE_ENFORCE(direction == "LEFT" || direction == "RIGHT",
                 ErrorCode::kInvalidArgument, "onnx.bit_shift",
                 "attribute direction is '{}'; expected LEFT or RIGHT",
                 direction);
  node.Finish(
      direction == "LEFT" ? "bitwise_left_shift" : "bitwise_right_shift",
      {{"X", {node.In(0)}}, {"Y", {node.In(1)}}});
}

void Pow(Node& node) {
  const Inputs x = {{"X", {node.In(0)}}};
  const Tensor* constant = node.Constant(1);
  const bool one = constant != nullptr && constant->numel() == 1 &&
                   constant->dtype() == DType::kFloat32;
  const float exponent = one ? constant->data<float>()[0] : 0.0F;
  if (exponent == 2) return node.Finish("square", x);
  if (exponent == 1) return node.Finish("assign", x);
  const DType base = node.TypeOf(0);
  if (base == node.TypeOf(1)) return Binary<kPow>(node);
  // The result has the base's dtype; a whole number may have any exponent.
  const bool as_float = !platform::IsFloating(base);
  const DType computed = as_float ? DType::kFloat64 : base;
  const auto as_computed = [&](int index) {
    return node.Append("cast", {{"X", {node.In(index)}}},
                       {{"dtype", computed}});
  };
  if (!as_float) {
    return node.Finish(kPow, {{"X", {node.In(0)}}, {"Y", {as_computed(1)}}});
  }
  const std::string power =
      node.Append(kPow, {{"X", {as_computed(0)}}, {"Y", {as_computed(1)}}});
  node.Finish("cast", {{"X", {power}}}, {{"dtype", base}});
}

// One op for each input after the first.
template <const char* const& kType>
void Chain(Node& node) {
  std::string result = node.In(0);
  const int count = node.input_count();
  if (count == 1) return node.Finish("assign", {{"X", {result}}});
  for (int i = 1; i + 1 < count; ++i) {
    result = node.Append(kType, {{"X", {result}}, {"Y", {node.In(i)}}});
  }
  node.Finish(kType, {{"X", {result}}, {"Y", {node.In(count - 1)}}});
}

void IsInf(Node& node) {
  const bool positive = node.attributes().Int("detect_positive", 1) != 0;
  const bool negative = node.attributes().Int("detect_negative", 1) != 0;
  if (positive && negative) {
    return node.Finish("isinf", {{"X", {node.In(0)}}});
  }
  const double sign = negative ? -1 : 1;
  const std::string infinity = node.Append(
      "cast",
      {{"X",
        {node.NewConstant(Tensor::FromVector<double>(
            {}, {sign * std::numeric_limits<double>::infinity()}))}}},
      {{"dtype", node.TypeOf(0)}});
  // Nothing is greater than infinity: false everywhere, where neither counts.
  node.Finish(positive || negative ? "equal" : "greater_than",
              {{"X", {node.In(0)}}, {"Y", {infinity}}});
}

void Gelu(Node& node) {
  const std::string kind = node.attributes().String("approximate", "none");
  SLUICE_ENFORCE(kind == "none" || kind == "tanh", ErrorCode::kInvalidArgument,
                 "onnx.gelu",
                 "attribute approximate is {}; expected none or "
                 "tanh",
                 platform::Shown(kind));
  node.Finish("gelu", {{"X", {node.In(0)}}}, {{"approximate", kind == "tanh"}});
}

// The defaults of ONNX are numbers of float32, those of the op are not.
void Selu(Node& node) {
  node.Finish(
      "selu", {{"X", {node.In(0)}}},
      {{"scale", node.attributes().Float("gamma", 1.0507010221481323)},
       {"alpha", node.attributes().Float("alpha", 1.6732631921768188)}});
}

// A * sigmoid(alpha * A) * B.
void SwiGlu(Node& node) {
  const std::string swish =
      node.Append("swish", {{"X", {node.In(0)}}},
                  {{"beta", node.attributes().Float("alpha", 1)}});
  node.Finish(kMul, {{"X", {swish}}, {"Y", {node.In(1)}}});
}

// The sum of all inputs; inputs of one shape need one op only.
std::string SumOf(Node& node, bool finish) {
  framework::ArgVars all = {node.In(0)};
  bool same = true;
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
  node.Finish("scale", {{"X", {sum}}}, {{"scale", 1.0 / node.input_count()}});
}

// Others are known by their schemas (import/counterpart.h).
constexpr HandlerRow kElementwiseRows[] = {
    {"Add", 7, Add},      {"BitShift", 11, BitShift},
    {"Div", 7, Div},      {"Gelu", 20, Gelu},
    {"IsInf", 10, IsInf}, {"Max", 6, Chain<kMax>},
    {"Mean", 6, Mean},    {"Min", 6, Chain<kMin>},
    {"Mod", 10, Mod},     {"Mul", 7, Mul},
    {"Pow", 7, Pow},      {"Selu", 6, Selu},
    {"Sum", 6, Sum},      {"SwiGLU", 1, SwiGlu},
};

}  // namespace

std::span<const HandlerRow> ElementwiseHandlers() {
  return kElementwiseRows;
}

}  // namespace sluice::onnx
