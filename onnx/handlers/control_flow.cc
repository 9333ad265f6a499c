#include <string>
#include <vector>

#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {
namespace {

void CheckOutputCount(const char* what, size_t got, size_t expected) {
  SLUICE_ENFORCE(got == expected, ErrorCode::kInvalidArgument,
                 "onnx.subgraph_outputs", "its {} has {} outputs; expected {}",
                 what, got, expected);
}

// If the condition is constant, only the ops of that branch are imported.
void If(Node& node) {
  const auto& then_graph = node.attributes().NeededGraph("then_branch");
  const auto& else_graph = node.attributes().NeededGraph("else_branch");
  const auto outputs = static_cast<size_t>(node.output_count());
  CheckOutputCount("then_branch", then_graph.output().size(), outputs);
  CheckOutputCount("else_branch", else_graph.output().size(), outputs);
  const Tensor* known = node.Constant(0);
  if (known != nullptr && known->dtype() == DType::kBool &&
      known->numel() == 1) {
    const Names results =
        node.AddSubgraph(known->data<bool>()[0] ? then_graph : else_graph);
    for (int i = 0; i < node.output_count(); ++i) {
      node.FinishOutput(i, "assign",
                        {{"X", {results[static_cast<size_t>(i)]}}});
    }
    return;
  }
  Node::Block then_block;
  bool lost = false;
  try {
    then_block = node.AddBlock(then_graph, {});
  } catch (const LostSubgraph&) {
    lost = true;  // go on, to list the other branch's errors
  }
  const Node::Block else_block = node.AddBlock(else_graph, {});
  if (lost) throw LostSubgraph();
  node.FinishBlocks("if", {{"Cond", {node.In(0)}}},
                    {{"then_block", then_block.index},
                     {"else_block", else_block.index},
                     {"then_outputs", then_block.outputs},
                     {"else_outputs", else_block.outputs}},
                    {{"Out", node.output_count()}});
}

// The type of a loop-carried value: its first value may have another shape than
// later ones.
ValueType Carried(const Node& node, int input) {
  DDim dims = node.Dims(input);
  for (int axis = 0; axis < dims.rank(); ++axis) {
    dims[axis] = kUnknownDim;
  }
  return {node.TypeOf(input), dims, /*is_first=*/true};
}

Names Part(const Names& names, size_t begin, size_t count) {
  const auto first = names.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

void Loop(Node& node) {
  const auto& body = node.attributes().NeededGraph("body");
  std::vector<ValueType> types = {{DType::kInt64, DDim()},
                                  {DType::kBool, DDim()}};
  Names first;
  for (int i = 2; i < node.input_count(); ++i) {
    types.push_back(Carried(node, i));
    first.push_back(node.In(i));
  }
  const size_t carried = first.size();
  const auto outputs = static_cast<size_t>(node.output_count());
  CheckOutputCount("body", body.output().size(), outputs + 1);
  CheckOutputCount("node", std::max(outputs, carried), outputs);
  const Node::Block block = node.AddBlock(body, types);
  Inputs inputs;
  if (node.HasInput(0)) inputs.push_back({"MaxTrips", {node.In(0)}});
  if (node.HasInput(1)) inputs.push_back({"Cond", {node.In(1)}});
  if (carried > 0) inputs.emplace_back("Carried", first);
  // Without a condition, the body's condition is ignored.
  const std::string condition = node.HasInput(1) ? block.outputs[0] : "";
  node.FinishBlocks(
      "loop", std::move(inputs),
      {{"block", block.index},
       {"iteration", block.inputs[0]},
       {"condition_in", block.inputs[1]},
       {"carried", Part(block.inputs, 2, carried)},
       {"condition_out", condition},
       {"carried_out", Part(block.outputs, 1, carried)},
       {"stacked", Part(block.outputs, 1 + carried, outputs - carried)}},
      {{"Out", static_cast<int>(carried)},
       {"Stacked", static_cast<int>(outputs - carried)}});
}

void Scan(Node& node) {
  auto& attributes = node.attributes();
  const auto& body = attributes.NeededGraph("body");
  const int64_t sequences = attributes.NeededInt("num_scan_inputs");
  const Ints input_axes = attributes.Ints("scan_input_axes");
  const Ints input_directions = attributes.Ints("scan_input_directions");
  const Ints output_axes = attributes.Ints("scan_output_axes");
  const Ints output_directions = attributes.Ints("scan_output_directions");
  SLUICE_ENFORCE(sequences >= 1 && sequences <= node.input_count(),
                 ErrorCode::kInvalidArgument, "onnx.scan_inputs",
                 "num_scan_inputs is {}; the node has {} inputs", sequences,
                 node.input_count());
  const int64_t carried = node.input_count() - sequences;
  CheckOutputCount("body", body.output().size(),
                   static_cast<size_t>(node.output_count()));
  CheckOutputCount(
      "node",
      static_cast<size_t>(std::max<int64_t>(node.output_count(), carried)),
      static_cast<size_t>(node.output_count()));
  std::vector<ValueType> types;
  Names first;
  Names whole;
  for (int i = 0; i < node.input_count(); ++i) {
    if (i < carried) {
      types.push_back(Carried(node, i));
      first.push_back(node.In(i));
      continue;
    }
    const auto which = static_cast<size_t>(i - carried);
    const int rank = RankOf(node, i);
    const auto axis = static_cast<int>(
        AxisOf(which < input_axes.size() ? input_axes[which] : 0, rank));
    DDim slice;
    for (int at = 0; at < rank; ++at) {
      if (at != axis) slice.InsertDim(slice.rank(), node.Dims(i)[at]);
    }
    types.push_back({node.TypeOf(i), slice});
    whole.push_back(node.In(i));
  }
  const Node::Block block = node.AddBlock(body, types);
  const auto count = static_cast<size_t>(carried);
  const size_t stacked = block.outputs.size() - count;
  Inputs inputs = {{"Sequences", whole}};
  if (carried > 0) inputs.emplace_back("Carried", first);
  node.FinishBlocks("loop", std::move(inputs),
                    {{"block", block.index},
                     {"carried", Part(block.inputs, 0, count)},
                     {"slices", Part(block.inputs, count, whole.size())},
                     {"carried_out", Part(block.outputs, 0, count)},
                     {"stacked", Part(block.outputs, count, stacked)},
                     {"sequence_axes", input_axes},
                     {"sequence_reversed", input_directions},
                     {"stacked_axes", output_axes},
                     {"stacked_reversed", output_directions}},
                    {{"Out", static_cast<int>(carried)},
                     {"Stacked", static_cast<int>(stacked)}});
}

}  // namespace

const HandlerTable kControlFlowHandlers = {
    {"If", 1, If}, {"Loop", 1, Loop}, {"Scan", 9, Scan}};

}  // namespace sluice::onnx
