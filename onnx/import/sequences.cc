#include "sluice/onnx/import/sequences.h"

#include <algorithm>

#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

std::string NameOfPart(const std::string& sequence, int64_t index) {
  return Format("{}[{}]", sequence, index);
}

void TakeSequencesApart(const std::map<std::string, int64_t>& lengths,
                        ImportCost* cost,
                        GraphProto* graph) {
  auto* inputs = graph->mutable_input();
  for (const auto& [name, length] : lengths) {
    const auto found = std::find_if(
        inputs->begin(), inputs->end(), [&name = name](const auto& input) {
          return input.name() == name && input.type().has_sequence_type();
        });
    SLUICE_ENFORCE(found != inputs->end(), ErrorCode::kInvalidArgument,
                   "onnx.sequence_input",
                   "sequence_lengths names {}, which is no input of the model "
                   "that is a sequence of tensors",
                   Shown(name));
    SLUICE_ENFORCE(length >= 0, ErrorCode::kInvalidArgument,
                   "onnx.sequence_input_length",
                   "sequence_lengths says {} tensors for {}; expected 0 or "
                   "more",
                   length, Shown(name));
    cost->Need("its sequences", static_cast<uint64_t>(length), kOpBytes);
    const auto part = found->type().sequence_type().elem_type();
    inputs->erase(found);
    NodeProto* node = graph->add_node();
    node->set_op_type("SequenceConstruct");
    node->set_name(name);
    node->add_output(name);
    for (int64_t i = 0; i < length; ++i) {
      auto* input = inputs->Add();
      input->set_name(NameOfPart(name, i));
      *input->mutable_type() = part;
      node->add_input(input->name());
    }
  }
}

}  // namespace sluice::onnx
