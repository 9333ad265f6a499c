#include <algorithm>
#include <utility>

#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/import/node.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/cancel.h"

// The subgraphs of nodes, and values that are no tensors.
namespace sluice::onnx {

namespace {

constexpr const char* kCopies = "copies of its body, one for each iteration,";

// Removes what the copies of a graph share, and what only errors need.
void KeepNodes(GraphProto* graph) {
  graph->clear_value_info();
  for (NodeProto& node : *graph->mutable_node()) {
    VisitSubgraphs(&node, KeepNodes);
  }
}

// Checks the value of an input of a copy by what the graph says of it.
void CheckGiven(const ::onnx::ValueInfoProto& input,
                const std::string& value,
                const ValueMap& values) {
  const ::onnx::TypeProto& type = TypeOfValue(input);
  const bool is_sequence = values.FindSequence(value) != nullptr;
  if (values.IsAbsent(value)) return;
  if (!type.has_sequence_type() && !type.has_tensor_type()) return;
  SLUICE_ENFORCE(type.has_sequence_type() == is_sequence,
                 ErrorCode::kInvalidArgument, "onnx.copy_kind",
                 "its body takes a {} for {}, and gets a {}",
                 is_sequence ? "tensor" : "sequence", Shown(input.name()),
                 is_sequence ? "sequence" : "tensor");
  const int wanted = type.tensor_type().elem_type();
  if (is_sequence || wanted == 0 || wanted == TensorProto::STRING) return;
  const DType dtype = ToDType(wanted, "input " + Shown(input.name()));
  SLUICE_ENFORCE(dtype == values.DTypeOf(value), ErrorCode::kInvalidArgument,
                 "onnx.copy_dtype", "its body takes {} for {}, and gets {}",
                 dtype, Shown(input.name()), values.DTypeOf(value));
}

}  // namespace

void Node::CheckInputs(const GraphProto& graph, size_t inputs) const {
  SLUICE_ENFORCE(static_cast<size_t>(graph.input_size()) == inputs,
                 ErrorCode::kInvalidArgument, "onnx.subgraph_inputs",
                 "its graph {} has {} inputs; expected {}", Shown(graph.name()),
                 graph.input_size(), inputs);
}

Names Node::AddSubgraph(const GraphProto& graph) {
  SLUICE_ENFORCE(graph.input_size() == 0, ErrorCode::kInvalidArgument,
                 "onnx.branch_inputs",
                 "its branch {} has {} inputs; expected none",
                 Shown(graph.name()), graph.input_size());
  import_graph_(graph);
  Names outputs;
  for (const auto& output : graph.output()) {
    outputs.push_back(output.name());
  }
  return outputs;
}

uint64_t Node::BytesOfCopy(const GraphProto& graph, size_t longest) {
  return kOpBytes + BytesInMemory(graph) +
         CountNames(graph) * (kNameBytes + longest);
}

void Node::CheckCopies(const GraphProto& graph, int64_t copies) const {
  const auto ops = static_cast<uint64_t>(graph.node_size()) * kOpBytes;
  cost().Check(kCopies, static_cast<uint64_t>(std::max<int64_t>(copies, 0)),
               BytesOfCopy(graph, FirstOutput().size()) + ops);
}

Names Node::AddCopy(const GraphProto& graph,
                    int64_t copy,
                    const Names& inputs) {
  CheckCancelled();
  CheckInputs(graph, inputs.size());
  const std::string prefix = InnerName(Format("{}/", copy));
  size_t longest = prefix.size();
  Renaming::Names given;
  for (int i = 0; i < graph.input_size(); ++i) {
    const std::string& value = inputs[static_cast<size_t>(i)];
    CheckGiven(graph.input(i), value, values_);
    given[graph.input(i).name()] = value;
    longest = std::max(longest, value.size());
  }
  cost().Need(kCopies, BytesOfCopy(graph, longest));
  GraphProto body = graph;
  KeepNodes(&body);
  body.clear_input();
  Renaming(&values_.names()).RenameBody(prefix, std::move(given), {}, &body);
  values_.NoteReads(body);
  return AddSubgraph(body);
}

Node::Block Node::AddBlock(const GraphProto& graph,
                           const std::vector<ValueType>& inputs,
                           Ints* lengths) {
  CheckInputs(graph, inputs.size());
  Program& program = values_.program();
  Block block;
  const int index = program.BeginBlock();
  block.index = index;
  try {
    for (int i = 0; i < graph.input_size(); ++i) {
      const auto& input = graph.input(i);
      const ValueType& given = inputs[static_cast<size_t>(i)];
      ValueType type = TypeOfInput(input, given);
      if (given.is_first && given.dims.rank() != type.dims.rank()) {
        values_.StateRank(input.name(), std::max(type.dims.rank(), 0));
        type.dims = DDim::UnknownRank();
      }
      block.inputs.push_back(input.name());
      program.Data(input.name(), type.dtype, type.dims, location_.c_str(), 0);
    }
    import_graph_(graph);
    for (const auto& output : graph.output()) {
      const std::string& name = output.name();
      const Names* sequence = values_.FindSequence(name);
      int64_t length = kTensor;
      if (lengths != nullptr) {
        if (sequence != nullptr) length = std::ssize(*sequence);
        if (values_.IsAbsent(name)) length = kAbsent;
        lengths->push_back(length);
      }
      const Names one = {name};
      if (length == kAbsent) continue;
      for (const std::string& tensor : length == kTensor ? one : *sequence) {
        values_.MakeVariable(tensor);
        block.outputs.push_back(values_.Name(tensor));
      }
    }
  } catch (...) {
    program.DropBlocks(index);
    throw;
  }
  program.EndBlock();
  return block;
}

Names Node::NewOutputs(const Ints& lengths, const Names& results) {
  Names variables;
  for (int i = 0; i < static_cast<int>(lengths.size()); ++i) {
    const int64_t length = lengths[static_cast<size_t>(i)];
    if (length == kTensor) variables.push_back(OutputName(i));
    if (length == kAbsent) values_.AddAbsent(OutputName(i));
    if (length < 0) continue;
    Names tensors;
    for (int64_t k = 0; k < length; ++k) {
      tensors.push_back(InnerName("tensor"));
    }
    variables.insert(variables.end(), tensors.begin(), tensors.end());
    values_.AddSequence(OutputName(i), std::move(tensors));
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    if (values_.IsOfTexts(results[i])) values_.MarkTexts(variables[i]);
  }
  return variables;
}

void Node::FinishBlocks(const std::string& type,
                        Inputs inputs,
                        AttributeMap attributes,
                        Inputs outputs) {
  for (const auto& [argument, names] : inputs) {
    for (const std::string& name : names) {
      values_.MakeVariable(name);
    }
  }
  std::erase_if(outputs, [](const auto& made) { return made.second.empty(); });
  NeedOp(inputs, outputs);
  values_.program().AppendOp(type, std::move(inputs), std::move(attributes),
                             {location_, 0}, std::move(outputs));
}

void Node::FinishValue(int index, const std::string& value) {
  const std::string output = OutputName(index);
  if (IsSequence(value)) {
    values_.MoveSequence(value, output);
    return;
  }
  if (values_.IsAbsent(value)) return values_.AddAbsent(output);
  if (values_.IsOfTexts(value)) values_.MarkTexts(output);
  const Tensor* constant = values_.FindConstant(value);
  if (constant != nullptr) return values_.AddConstant(output, *constant);
  Add("assign", {{"X", {value}}}, {}, {{"Out", {output}}});
}

const Names* Node::Sequence(int index) const {
  const auto* sequence = values_.FindSequence(InputName(index));
  if (sequence == nullptr) In(index);
  return sequence;
}

Names& Node::FinishSequenceOf(int index) {
  return values_.MoveSequence(InputName(index), OutputName(0));
}

void Node::FinishSequence(Names tensors, int index) {
  values_.AddSequence(OutputName(index), std::move(tensors));
}

void Node::FinishMaps(const std::string& x, Ints keys) {
  values_.SetMapKeys(OutputName(0), std::move(keys));
  FinishUnary("assign", x);
}

const Names& SequenceOf(const Node& node, int index) {
  const Names* sequence = node.Sequence(index);
  if (sequence == nullptr) {
    Node::Unsupported("its input {} is a tensor; expected a sequence", index);
  }
  return *sequence;
}

int64_t KnownNumber(const Node& node, int index, const char* what) {
  if (node.Constant(index) == nullptr) {
    Node::Late(
        "its {} ({}) is computed when the model runs, and a sequence depends "
        "on "
        "it",
        what, Shown(node.In(index)));
  }
  const Ints numbers = node.ConstantInts(index, what);
  SLUICE_ENFORCE(numbers.size() == 1, ErrorCode::kInvalidArgument,
                 "onnx.known_number", "its {} has {} numbers; expected one",
                 what, numbers.size());
  return numbers[0];
}

}  // namespace sluice::onnx
