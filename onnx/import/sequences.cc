#include "sluice/onnx/import/sequences.h"

#include <algorithm>

#include "sluice/onnx/import/value_map.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

// Returns the index of an input, or -1.
int FindInput(const GraphProto& graph, const std::string& name) {
  for (int i = 0; i < graph.input_size(); ++i) {
    if (graph.input(i).name() == name) return i;
  }
  return -1;
}

// Replaces an input by a node that makes its value.
NodeProto* Replace(int input, const char* type, GraphProto* graph) {
  NodeProto* node = graph->add_node();
  node->set_op_type(type);
  node->set_name(graph->input(input).name());
  node->add_output(node->name());
  graph->mutable_input()->DeleteSubrange(input, 1);
  return node;
}

}  // namespace

std::string NameOfPart(const std::string& sequence, int64_t index) {
  return Format("{}[{}]", sequence, index);
}

void TakeSequencesApart(const std::map<std::string, int64_t>& lengths,
                        ImportCost* cost,
                        GraphProto* graph) {
  for (const auto& [name, length] : lengths) {
    const int found = FindInput(*graph, name);
    SLUICE_ENFORCE(
        found >= 0 && TypeOfValue(graph->input(found)).has_sequence_type(),
        ErrorCode::kInvalidArgument, "onnx.sequence_input",
        "sequence_lengths names {}, which is no input of the model that is a "
        "sequence of tensors",
        Shown(name));
    SLUICE_ENFORCE(length >= 0, ErrorCode::kInvalidArgument,
                   "onnx.sequence_input_length",
                   "sequence_lengths says {} tensors for {}; expected 0 or "
                   "more",
                   length, Shown(name));
    cost->Need("its sequences", static_cast<uint64_t>(length), kOpBytes);
    const auto part =
        TypeOfValue(graph->input(found)).sequence_type().elem_type();
    NodeProto* node = Replace(found, "SequenceConstruct", graph);
    for (int64_t i = 0; i < length; ++i) {
      auto* input = graph->add_input();
      input->set_name(NameOfPart(name, i));
      *input->mutable_type() = part;
      node->add_input(input->name());
    }
  }
}

void LeaveOut(const std::set<std::string>& absent, GraphProto* graph) {
  for (const std::string& name : absent) {
    const int found = FindInput(*graph, name);
    SLUICE_ENFORCE(
        found >= 0 && graph->input(found).type().has_optional_type(),
        ErrorCode::kInvalidArgument, "onnx.absent_input",
        "absent_inputs names {}, which is no input of the model that is "
        "optional",
        Shown(name));
    Replace(found, "Optional", graph);
  }
}

}  // namespace sluice::onnx
