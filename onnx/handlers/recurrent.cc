#include "sluice/onnx/recurrent.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <vector>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

const Activation& FindActivation(const std::string& name) {
  // Like onnxruntime, without regard to case.
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  const auto* found = std::find_if(
      std::begin(kActivations), std::end(kActivations), [&](const auto& one) {
        return std::equal(name.begin(), name.end(), one.name.begin(),
                          one.name.end(), same);
      });
  SLUICE_ENFORCE(found != std::end(kActivations), ErrorCode::kInvalidArgument,
                 "onnx.recurrent_activation",
                 "attribute activations names {}, which is none of ONNX's",
                 Shown(name));
  return *found;
}

// Each activation with an alpha consumes the next number of activation_alpha.
void SetActivations(Node& node, AttributeMap* ours) {
  Names names = node.attributes().Strings("activations");
  const Doubles alphas = node.attributes().Floats("activation_alpha");
  const Doubles betas = node.attributes().Floats("activation_beta");
  if (names.empty()) return;
  // ONNX's default is for two directions; onnxruntime writes it for one, too.
  if (node.type() == "RNN" && names.size() == 2 &&
      (*ours)["direction"] != Attribute(std::string("bidirectional"))) {
    names.pop_back();
  }
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
    if (activation.has_alpha && next_alpha < alphas.size()) {
      alpha.back() = alphas[next_alpha++];
    }
    if (activation.has_beta && next_beta < betas.size()) {
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
    return node.Reshape(float_of(node.In(input)), {0, 1, -1});
  };
  std::string x = float_of(node.In(index));
  if (node.HasInput(scale + 1)) {
    x = node.Binary("elementwise_sub", {x, spread(scale + 1)});
  }
  x = node.Binary("elementwise_mul", {x, spread(scale)});
  return node.Transpose(x, {0, 2, 1});
}

// Unlike in onnxruntime, the input and the state of a quantized layer are not
// quantized.
void Recurrent(Node& node) {
  Attributes& attributes = node.attributes();
  const bool quantized = node.type() == "DynamicQuantizeLSTM";
  AttributeMap ours;
  Names outputs = {"Y", "LastH"};
  const char* op = "simple_rnn";
  if (node.type() == "GRU") {
    op = "gru";
    ours["linear_before_reset"] = attributes.Flag("linear_before_reset");
  } else if (node.type() != "RNN") {
    op = "lstm";
    ours["input_forget"] = attributes.Flag("input_forget");
    outputs.emplace_back("LastC");
  }
  const std::string w = quantized ? Dequantized(node, 1, 8) : node.In(1);
  const std::string r = quantized ? Dequantized(node, 2, 10) : node.In(2);
  ours["direction"] = attributes.String("direction", "forward");
  ours["clip"] = attributes.Float("clip", 0);
  ours["batch_first"] = attributes.Flag("layout");
  SetActivations(node, &ours);
  CheckHiddenSize(node, r);
  Inputs inputs;
  for (int i = 0; i < std::ssize(kRecurrentInputs); ++i) {
    if (!node.HasInput(i)) continue;
    const std::string& value = i == 1 ? w : i == 2 ? r : node.In(i);
    inputs.push_back({kRecurrentInputs[i], {value}});
  }
  node.FinishAll(op, std::move(inputs), std::move(ours), outputs);
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

}  // namespace

const HandlerTable kRecurrentHandlers = {
    {"GRU LSTM RNN", 7, Recurrent},
    {"LinearAttention", 27, LinearAttention},
    {"com.microsoft.DynamicQuantizeLSTM", 1, Recurrent},
};

}  // namespace sluice::onnx
