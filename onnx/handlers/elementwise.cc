#include <cmath>
#include <string>

#include "sluice/onnx/handlers/affine.h"
#include "sluice/onnx/handlers/hard_swish.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"

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
  if (node.TypeOf(0) != node.TypeOf(1)) {
    Node::Unsupported("a base of {} with an exponent of {}",
                      platform::ToString(node.TypeOf(0)),
                      platform::ToString(node.TypeOf(1)));
  }
  Binary<kPow>(node);
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
constexpr HandlerRow kRows[] = {
    {"Add", 7, Add},  {"BitShift", 11, BitShift},
    {"Div", 7, Div},  {"Mean", 6, Mean},
    {"Mod", 10, Mod}, {"Mul", 7, Mul},
    {"Pow", 7, Pow},  {"Sum", 6, Sum},
};

}  // namespace

std::span<const HandlerRow> ElementwiseHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
