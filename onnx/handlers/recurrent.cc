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

void CheckHiddenSize(Node& node) {
  if (!node.attributes().Has("hidden_size")) return;
  const int64_t size = node.attributes().NeededInt("hidden_size");
  const DDim r = node.Dims(2);
  const bool known = r.rank() == 3 && r[2] >= 0;
  SLUICE_ENFORCE(!known || r[2] == size, ErrorCode::kInvalidArgument,
                 "onnx.recurrent_hidden_size",
                 "hidden_size is {}; its input R {} has {} hidden units", size,
                 r, known ? r[2] : -1);
}

void Recurrent(Node& node,
               const char* op,
               AttributeMap ours,
               const std::vector<std::string>& outputs) {
  constexpr std::array kInputs = {
      "X",        "W",        "R",       "Bias", "SequenceLens",
      "InitialH", "InitialC", "Peephole"};
  Attributes& attributes = node.attributes();
  ours["direction"] = attributes.String("direction", "forward");
  ours["clip"] = attributes.Float("clip", 0);
  ours["batch_first"] = attributes.Int("layout", 0) != 0;
  SetActivations(node, &ours);
  CheckHiddenSize(node);
  Inputs inputs;
  for (int i = 0; i < static_cast<int>(kInputs.size()); ++i) {
    if (node.HasInput(i)) inputs.push_back({kInputs[i], {node.In(i)}});
  }
  node.FinishAll(op, std::move(inputs), std::move(ours), outputs);
}

void Rnn(Node& node) {
  Recurrent(node, "simple_rnn", {}, {"Y", "LastH"});
}

void Gru(Node& node) {
  const bool linear = node.attributes().Int("linear_before_reset", 0) != 0;
  Recurrent(node, "gru", {{"linear_before_reset", linear}}, {"Y", "LastH"});
}

void Lstm(Node& node) {
  const bool coupled = node.attributes().Int("input_forget", 0) != 0;
  Recurrent(node, "lstm", {{"input_forget", coupled}}, {"Y", "LastH", "LastC"});
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
    {"RNN", 7, Rnn}};

}  // namespace

const HandlerTable kRecurrentHandlers = kRecurrentRows;

}  // namespace sluice::onnx
