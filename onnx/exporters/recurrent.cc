#include "sluice/onnx/recurrent.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

void SetActivations(const OpExport& op, AttributeMap* attributes) {
  const auto& names = std::get<Names>(op.Attr("activations"));
  if (names.empty()) return;
  const auto& alphas = std::get<Doubles>(op.Attr("activation_alpha"));
  const auto& betas = std::get<Doubles>(op.Attr("activation_beta"));
  Names theirs;
  Doubles alpha;
  Doubles beta;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto* found = std::find_if(
        std::begin(kActivations), std::end(kActivations),
        [&](const Activation& one) { return one.ours == names[i]; });
    if (found == std::end(kActivations)) {
      OpExport::Unsupported("ONNX has no activation {} in recurrent layers",
                            names[i]);
    }
    theirs.emplace_back(found->name);
    if (found->has_alpha && !alphas.empty()) alpha.push_back(alphas[i]);
    if (found->has_beta && !betas.empty()) beta.push_back(betas[i]);
  }
  (*attributes)["activations"] = theirs;
  if (!alpha.empty()) (*attributes)["activation_alpha"] = alpha;
  if (!beta.empty()) (*attributes)["activation_beta"] = beta;
}

void Recurrent(OpExport& op) {
  const bool lstm = op.type() == "lstm";
  if (op.Has("Offsets")) {
    OpExport::Unsupported("ONNX has no ragged rows; use sequence_pad");
  }
  if (!op.Has("W")) {
    OpExport::Unsupported("ONNX has no recurrent layer without input W");
  }
  if (lstm && std::get<std::string>(op.Attr("gate_order")) != "iofc") {
    OpExport::Unsupported("ONNX has gates in the order i, o, f, c only");
  }
  if (op.type() == "gru" && op.Bool("update_takes_new")) {
    OpExport::Unsupported("ONNX has update_takes_new = false only");
  }
  Names inputs;
  for (const char* input : kRecurrentInputs) {
    inputs.push_back(op.In(input));
  }
  AttributeMap attributes = {{"direction", op.Attr("direction")}};
  if (op.Bool("batch_first")) attributes["layout"] = int64_t{1};
  if (op.Float("clip") > 0) attributes["clip"] = op.Attr("clip");
  const DDim r = op.Dims("R");
  if (r.rank() == 3 && r[2] >= 0) attributes["hidden_size"] = r[2];
  SetActivations(op, &attributes);
  if (lstm) {
    if (op.Bool("input_forget")) attributes["input_forget"] = int64_t{1};
    return op.FinishAll("LSTM", inputs, attributes, {"Y", "LastH", "LastC"});
  }
  if (op.type() == "gru" && op.Bool("linear_before_reset")) {
    attributes["linear_before_reset"] = int64_t{1};
  }
  op.FinishAll(op.type() == "gru" ? "GRU" : "RNN", inputs, attributes,
               {"Y", "LastH"});
}

void LinearAttention(OpExport& op) {
  if (op.opset() < 27) {
    OpExport::Unsupported("ONNX has LinearAttention from opset 27 on");
  }
  if (op.TypeOf("Query") == DType::kFloat64) {
    OpExport::Unsupported("ONNX has LinearAttention of no float64");
  }
  op.FinishAll("LinearAttention", op.AllInputs(),
               {{"q_num_heads", op.Attr("q_num_heads")},
                {"kv_num_heads", op.Attr("kv_num_heads")},
                {"update_rule", op.Attr("update_rule")},
                {"scale", op.Attr("scale")}},
               {"Out", "PresentState"});
}

}  // namespace

const ExporterTable kRecurrentExporters = {
    {"linear_attention", LinearAttention}, {"gru lstm simple_rnn", Recurrent}};

}  // namespace sluice::onnx
