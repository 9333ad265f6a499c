#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string>
#include <vector>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

using Names = std::vector<std::string>;

// An activation function of ONNX. `alpha` and `beta` are its parameters'
// defaults, if it has them.
struct Activation {
  const char* name;  // lower case: onnxruntime ignores case
  const char* ours;
  int alphas = 0, betas = 0;
  double alpha = 0, beta = 0;
};
constexpr Activation kActivations[] = {
    {"relu", "relu"},
    {"tanh", "tanh"},
    {"sigmoid", "sigmoid"},
    {"softsign", "softsign"},
    {"softplus", "softplus"},
    {"affine", "affine", 1, 1, 1, 0},
    {"leakyrelu", "leaky_relu", 1, 0, 0.01},
    {"thresholdedrelu", "thresholded_relu", 1, 0, 1},
    {"scaledtanh", "scaled_tanh", 1, 1, 1, 1},
    {"hardsigmoid", "hard_sigmoid", 1, 1, 0.2, 0.5},
    {"elu", "elu", 1, 0, 1},
};

const Activation& FindActivation(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  });
  const auto* found =
      std::find_if(std::begin(kActivations), std::end(kActivations),
                   [&](const Activation& one) { return lower == one.name; });
  SLUICE_ENFORCE(found != std::end(kActivations), ErrorCode::kInvalidArgument,
                 "onnx.recurrent_activation",
                 "attribute activations names {}, which is none of ONNX's",
                 Shown(name));
  return *found;
}

// Each activation with an alpha consumes the next number of activation_alpha.
void SetActivations(Node& node, AttributeMap* ours) {
  const Names names = node.attributes().Strings("activations");
  const Doubles alphas = node.attributes().Floats("activation_alpha");
  const Doubles betas = node.attributes().Floats("activation_beta");
  if (names.empty()) return;
  Names found;
  Doubles alpha;
  Doubles beta;
  size_t next_alpha = 0;
  size_t next_beta = 0;
  for (const std::string& name : names) {
    const Activation& activation = FindActivation(name);
    found.emplace_back(activation.ours);
    alpha.push_back(activation.alpha);
    beta.push_back(activation.beta);
    if (activation.alphas > 0 && next_alpha < alphas.size()) {
      alpha.back() = alphas[next_alpha++];
    }
    if (activation.betas > 0 && next_beta < betas.size()) {
      beta.back() = betas[next_beta++];
    }
  }
  (*ours)["activations"] = found;
  (*ours)["activation_alpha"] = alpha;
  (*ours)["activation_beta"] = beta;
}

void CheckHiddenSize(Node& node, const std::string& weights) {
  if (!node.attributes().Has("hidden_size")) return;
  const int64_t size = node.attributes().NeededInt("hidden_size");
  const DDim r = node.DimsOf(weights);
  const bool known = r.rank() == 3 && r[2] >= 0;
  SLUICE_ENFORCE(!known || r[2] == size, ErrorCode::kInvalidArgument,
                 "onnx.recurrent_hidden_size",
                 "hidden_size is {}; its input R {} has {} hidden units", size,
                 r, known ? r[2] : -1);
}

// The variables of the inputs W and R of the op.
struct Weights {
  std::string w, r;
};

void Recurrent(Node& node,
               const char* op,
               AttributeMap ours,
               const std::vector<std::string>& outputs,
               const Weights& weights) {
  constexpr std::array kInputs = {
      "X",        "W",        "R",       "Bias", "SequenceLens",
      "InitialH", "InitialC", "Peephole"};
  Attributes& attributes = node.attributes();
  ours["direction"] = attributes.String("direction", "forward");
  ours["clip"] = attributes.Float("clip", 0);
  ours["batch_first"] = attributes.Int("layout", 0) != 0;
  SetActivations(node, &ours);
  CheckHiddenSize(node, weights.r);
  Inputs inputs;
  for (int i = 0; i < static_cast<int>(kInputs.size()); ++i) {
    if (!node.HasInput(i)) continue;
    inputs.push_back({kInputs[i],
                      {i == 1   ? weights.w
                       : i == 2 ? weights.r
                                : node.In(i)}});
  }
  node.FinishAll(op, std::move(inputs), std::move(ours), outputs);
}

Weights GivenWeights(const Node& node) {
  return {node.In(1), node.In(2)};
}

void Rnn(Node& node) {
  Recurrent(node, "simple_rnn", {}, {"Y", "LastH"}, GivenWeights(node));
}

void Gru(Node& node) {
  const bool linear = node.attributes().Int("linear_before_reset", 0) != 0;
  Recurrent(node, "gru", {{"linear_before_reset", linear}}, {"Y", "LastH"},
            GivenWeights(node));
}

void LstmOf(Node& node, const Weights& weights) {
  const bool coupled = node.attributes().Int("input_forget", 0) != 0;
  Recurrent(node, "lstm", {{"input_forget", coupled}}, {"Y", "LastH", "LastC"},
            weights);
}

void Lstm(Node& node) {
  LstmOf(node, GivenWeights(node));
}

// The constant input `index`, [directions, terms, rows] of int8 or uint8, as
// [directions, rows, terms] of float32. Its scale and zero point are inputs
// `scale` and the one after it: [directions], or [directions, rows].
std::string Dequantized(Node& node, int index, int scale) {
  const DType dtype = node.TypeOf(index);
  if (node.Constant(index) == nullptr ||
      (dtype != DType::kInt8 && dtype != DType::kUInt8)) {
    Node::Unsupported("its input {} is not a constant of int8 or uint8", index);
  }
  const auto float_of = [&node](const std::string& x) {
    return node.Cast(x, DType::kFloat32);
  };
  const auto spread = [&](int input) {
    return node.Unary("reshape", float_of(node.In(input)),
                      {{"shape", Ints{0, 1, -1}}});
  };
  std::string x = float_of(node.In(index));
  if (node.HasInput(scale + 1)) {
    x = node.Binary("elementwise_sub", {x, spread(scale + 1)});
  }
  x = node.Binary("elementwise_mul", {x, spread(scale)});
  return node.Unary("transpose", x, {{"axis", Ints{0, 2, 1}}});
}

// Unlike in onnxruntime, the input and the state are not quantized.
void DynamicQuantizeLstm(Node& node) {
  LstmOf(node, {Dequantized(node, 1, 8), Dequantized(node, 2, 10)});
}

void LinearAttention(Node& node) {
  Attributes& attributes = node.attributes();
  attributes.Ignore("chunk_size");  // it is only a hint
  const std::string rule = attributes.String("update_rule", "gated_delta");
  Inputs inputs;
  const auto add = [&](int index, const char* argument) {
    if (node.HasInput(index)) inputs.push_back({argument, {node.In(index)}});
  };
  add(0, "Query");
  add(1, "Key");
  add(2, "Value");
  add(3, "PastState");
  if (rule.starts_with("gated")) add(4, "Decay");
  if (rule.ends_with("delta")) add(5, "Beta");
  node.FinishAll("linear_attention", std::move(inputs),
                 {{"q_num_heads", attributes.NeededInt("q_num_heads")},
                  {"kv_num_heads", attributes.NeededInt("kv_num_heads")},
                  {"update_rule", rule},
                  {"scale", attributes.Float("scale", 0)}},
                 {"Out", "PresentState"});
}

constexpr HandlerRow kRecurrentRows[] = {
    {"GRU", 7, Gru},
    {"LSTM", 7, Lstm},
    {"LinearAttention", 27, LinearAttention},
    {"RNN", 7, Rnn},
    {"com.microsoft.DynamicQuantizeLSTM", 1, DynamicQuantizeLstm}};

}  // namespace

const HandlerTable kRecurrentHandlers = kRecurrentRows;

}  // namespace sluice::onnx
