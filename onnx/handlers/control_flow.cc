#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {
namespace {

void CheckOutputCount(const char* what, size_t got, size_t expected) {
  SLUICE_ENFORCE(got == expected, ErrorCode::kInvalidArgument,
                 "onnx.subgraph_outputs", "its {} has {} outputs; expected {}",
                 what, got, expected);
}

std::string KindOf(int64_t length) {
  if (length == Node::kTensor) return "a tensor";
  if (length == Node::kAbsent) return "no value";
  return Format("a sequence of {} tensors", length);
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
      node.FinishValue(i, results[static_cast<size_t>(i)]);
    }
    return;
  }
  Node::Block then_block;
  Ints lengths, others;
  bool lost = false;
  try {
    then_block = node.AddBlock(then_graph, {}, &lengths);
  } catch (const LostSubgraph&) {
    lost = true;  // go on, to list the other branch's errors
  }
  const Node::Block else_block = node.AddBlock(else_graph, {}, &others);
  if (lost) throw LostSubgraph();
  for (size_t i = 0; i < outputs; ++i) {
    if (lengths[i] == others[i]) continue;
    Node::Late(
        "output {} is {} in its then_branch and {} in its else_branch, and its "
        "condition ({}) is computed when the model runs",
        i, KindOf(lengths[i]), KindOf(others[i]), Shown(node.In(0)));
  }
  node.FinishBlocks("if", {{"Cond", {node.In(0)}}},
                    {{"then_block", then_block.index},
                     {"else_block", else_block.index},
                     {"then_outputs", then_block.outputs},
                     {"else_outputs", else_block.outputs}},
                    {{"Out", node.NewOutputs(lengths, then_block.outputs)}});
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

// Whether a graph takes a tensor out of a sequence of an enclosing graph, at a
// position that it computes.
bool PicksTensors(const Node& node, const GraphProto& graph) {
  Names constants;
  bool picks = false;
  for (const NodeProto& each : graph.node()) {
    if (each.op_type() == "Constant" && each.output_size() > 0) {
      constants.push_back(each.output(0));
    }
    picks = picks ||
            (each.op_type() == "SequenceAt" && each.input_size() == 2 &&
             node.IsSequence(each.input(0)) &&
             node.ConstantOf(each.input(1)) == nullptr &&
             std::find(constants.begin(), constants.end(), each.input(1)) ==
                 constants.end());
    VisitSubgraphs(each, [&](const GraphProto& inner) {
      picks = picks || PicksTensors(node, inner);
    });
  }
  return picks;
}

// Whether only a copy of the body for each iteration can compute a loop.
bool NeedsCopies(const Node& node, const GraphProto& body) {
  for (int i = 2; i < node.input_count(); ++i) {
    if (!node.HasInput(i) || node.Sequence(i) != nullptr) return true;
  }
  const bool known = node.HasInput(0) && node.Constant(0) != nullptr;
  return known && PicksTensors(node, body);
}

bool KnownCondition(const Node& node, const std::string& name) {
  const Tensor* known = node.ConstantOf(name);
  if (known == nullptr) {
    Node::Late(
        "its condition ({}) is computed when the model runs, and a sequence "
        "depends on it",
        Shown(name));
  }
  SLUICE_ENFORCE(known->dtype() == DType::kBool && known->numel() == 1,
                 ErrorCode::kInvalidArgument, "onnx.loop_condition",
                 "its condition is {} {}; expected one bool", known->dtype(),
                 known->dims());
  return known->data<bool>()[0];
}

// Stacks one tensor of each iteration along a new first dim.
void FinishStacked(Node& node, int index, Names tensors) {
  if (tensors.empty()) {
    Node::Unsupported("it has no iteration, and so output {} no known shape",
                      index);
  }
  for (std::string& tensor : tensors) {
    tensor = node.Unsqueeze(tensor, {0});
  }
  node.FinishOutput(index, "concat", {{"X", std::move(tensors)}},
                    {{"axis", int64_t{0}}});
}

// Adds the ops of the body once for each iteration: they are known.
void UnrollLoop(Node& node, const GraphProto& body) {
  int64_t trips = std::numeric_limits<int64_t>::max();
  if (node.HasInput(0)) {
    trips = KnownNumber(node, 0, "trip count");
    node.CheckCopies(body, trips);
  }
  const bool has_condition = node.HasInput(1);
  std::string condition =
      has_condition ? node.In(1) : node.Number(1, DType::kBool);
  Names carried;
  for (int i = 2; i < node.input_count(); ++i) {
    carried.push_back(node.InputName(i));
  }
  std::vector<Names> stacked(static_cast<size_t>(node.output_count()) -
                             carried.size());
  for (int64_t i = 0; i < trips; ++i) {
    if (has_condition && !KnownCondition(node, condition)) break;
    Names inputs = {node.Whole(i), condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    for (const std::string& value : carried) {
      if (i > 0) node.HandOn(value);
    }
    const Names outputs = node.AddCopy(body, i, inputs);
    if (has_condition) condition = outputs[0];
    for (size_t k = 1; k < outputs.size(); ++k) {
      if (k <= carried.size()) {
        carried[k - 1] = outputs[k];
      } else {
        stacked[k - 1 - carried.size()].push_back(outputs[k]);
      }
    }
  }
  int index = 0;
  for (const std::string& value : carried) {
    node.FinishValue(index++, value);
  }
  for (Names& tensors : stacked) {
    FinishStacked(node, index++, std::move(tensors));
  }
}

// Calls the body for each tensor of a sequence, and of others of that length.
void SequenceMap(Node& node) {
  const auto& body = node.attributes().NeededGraph("body");
  const int64_t count = std::ssize(SequenceOf(node, 0));
  const auto outputs = static_cast<size_t>(node.output_count());
  CheckOutputCount("body", body.output().size(), outputs);
  for (int k = 1; k < node.input_count(); ++k) {
    const Names* other = node.Sequence(k);
    SLUICE_ENFORCE(other == nullptr || std::ssize(*other) == count,
                   ErrorCode::kInvalidArgument, "onnx.sequence_map_length",
                   "its input {} has {} tensors, and input 0 has {}", k,
                   other->size(), count);
  }
  node.CheckCopies(body, count);
  std::vector<Names> results(outputs);
  for (int64_t i = 0; i < count; ++i) {
    Names inputs;
    for (int k = 0; k < node.input_count(); ++k) {
      const Names* sequence = node.Sequence(k);
      inputs.push_back(sequence == nullptr
                           ? node.In(k)
                           : (*sequence)[static_cast<size_t>(i)]);
    }
    const Names made = node.AddCopy(body, i, inputs);
    for (size_t k = 0; k < outputs; ++k) {
      node.DTypeOf(made[k]);  // a tensor
      results[k].push_back(made[k]);
    }
  }
  for (size_t k = 0; k < outputs; ++k) {
    node.FinishSequence(std::move(results[k]), static_cast<int>(k));
  }
}

void Loop(Node& node) {
  const auto& body = node.attributes().NeededGraph("body");
  const auto outputs = static_cast<size_t>(node.output_count());
  const auto carried = static_cast<size_t>(std::max(node.input_count() - 2, 0));
  CheckOutputCount("body", body.output().size(), outputs + 1);
  CheckOutputCount("node", std::max(outputs, carried), outputs);
  if (NeedsCopies(node, body)) return UnrollLoop(node, body);
  std::vector<ValueType> types = {{DType::kInt64, DDim()},
                                  {DType::kBool, DDim()}};
  Names first;
  for (int i = 2; i < node.input_count(); ++i) {
    types.push_back(Carried(node, i));
    first.push_back(node.In(i));
  }
  const Node::Block block = node.AddBlock(body, types);
  Inputs inputs;
  if (node.HasInput(0)) inputs.push_back({"MaxTrips", {node.In(0)}});
  if (node.HasInput(1)) inputs.push_back({"Cond", {node.In(1)}});
  if (carried > 0) inputs.emplace_back("Carried", first);
  // Without a condition, the body's condition is ignored.
  const std::string condition = node.HasInput(1) ? block.outputs[0] : "";
  const Names made = node.NewOutputs(Ints(outputs, Node::kTensor),
                                     Part(block.outputs, 1, outputs));
  node.FinishBlocks(
      "loop", std::move(inputs),
      {{"block", block.index},
       {"iteration", block.inputs[0]},
       {"condition_in", block.inputs[1]},
       {"carried", Part(block.inputs, 2, carried)},
       {"condition_out", condition},
       {"carried_out", Part(block.outputs, 1, carried)},
       {"stacked", Part(block.outputs, 1 + carried, outputs - carried)}},
      {{"Out", Part(made, 0, carried)},
       {"Stacked", Part(made, carried, outputs - carried)}});
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
    const DDim dims = node.Dims(i);
    const int64_t axis =
        AxisOfInput(node, i, which < input_axes.size() ? input_axes[which] : 0);
    DDim slice = dims.rank_known() ? DDim() : DDim::UnknownRank();
    for (int at = 0; at < dims.rank(); ++at) {
      if (at != axis) slice.InsertDim(slice.rank(), dims[at]);
    }
    types.push_back({node.TypeOf(i), slice});
    whole.push_back(node.In(i));
  }
  const Node::Block block = node.AddBlock(body, types);
  const auto count = static_cast<size_t>(carried);
  const size_t stacked = block.outputs.size() - count;
  const Names made =
      node.NewOutputs(Ints(block.outputs.size(), Node::kTensor), block.outputs);
  Inputs inputs = {{"Sequences", whole}};
  if (carried > 0) inputs.emplace_back("Carried", first);
  node.FinishBlocks(
      "loop", std::move(inputs),
      {{"block", block.index},
       {"carried", Part(block.inputs, 0, count)},
       {"slices", Part(block.inputs, count, whole.size())},
       {"carried_out", Part(block.outputs, 0, count)},
       {"stacked", Part(block.outputs, count, stacked)},
       {"sequence_axes", input_axes},
       {"sequence_reversed", input_directions},
       {"stacked_axes", output_axes},
       {"stacked_reversed", output_directions}},
      {{"Out", Part(made, 0, count)}, {"Stacked", Part(made, count, stacked)}});
}

// Those without lengths are NestOldScans'.
void Scan8(Node& /*node*/) {
  Node::Unsupported("its sequences have lengths of their own (sequence_lens)");
}

}  // namespace

const HandlerTable kControlFlowHandlers = {{"If", 1, If},
                                           {"Loop", 1, Loop},
                                           {"Scan", 8, Scan8},
                                           {"Scan", 9, Scan},
                                           {"SequenceMap", 17, SequenceMap}};

}  // namespace sluice::onnx
