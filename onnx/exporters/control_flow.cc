#include <limits>
#include <set>
#include <string>
#include <vector>

#include "sluice/framework/program/block_ops.h"
#include "sluice/onnx/export/exporters.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/place.h"

namespace sluice::onnx {

namespace {

// Writes a block as a graph that is an attribute of a node.
class BlockGraph {
 public:
  BlockGraph(OpExport& op, int block, const Names& outputs)
      : writer_(&op.graph(), block, outputs, &graph_) {
    writer_.BeginNodes(graph_.name() + "/inputs");
  }

  // Returns the finished graph.
  GraphProto* Done() {
    writer_.AddValueInfo();
    return &graph_;
  }

  // Assigns the result of a node to the variable.
  void Set(const std::string& variable,
           const std::string& type,
           const Names& inputs,
           const AttributeMap& attributes = {}) {
    writer_.AddNode(type, inputs, {writer_.Define(variable)}, attributes);
  }

  // Adds the value of a data variable as an input.
  void AddInput(const std::string& variable) {
    writer_.AddInput(writer_.Var(variable), writer_.Define(variable));
  }

  // Adds an input of rank 0, assigns it to the data variable if there is one,
  // and returns its name.
  std::string AddNumber(const std::string& variable,
                        DType dtype,
                        const std::string& name) {
    const VarDesc number = {.name = name, .dtype = dtype, .dims = DDim()};
    if (!variable.empty() && writer_.Var(variable).dims.rank() == 0) {
      std::string value = writer_.Define(variable);
      writer_.AddInput(number, value);
      return value;
    }
    std::string value = writer_.NewName(graph_.name() + "." + name);
    writer_.AddInput(number, value);
    if (!variable.empty()) Set(variable, "Reshape", {value, Vector({1})});
    return value;
  }

  std::string Append(const std::string& type,
                     const Names& inputs,
                     const AttributeMap& attributes = {}) {
    std::string name = writer_.NewName(graph_.name() + "." + type);
    writer_.AddNode(type, inputs, {name}, attributes);
    return name;
  }

  void WriteOps() {
    writer_.Write();
    writer_.BeginNodes(graph_.name() + "/outputs");
  }

  // In ONNX a node must compute a graph's output, and each value is one output.
  void AddOutput(const VarDesc& var, std::string value, bool is_made) {
    if (!is_made || !outputs_.insert(value).second) {
      value = Append("Identity", {value});
    }
    writer_.AddOutput(var, value);
  }
  void AddOutputs(const Names& variables) {
    for (const std::string& variable : variables) {
      const VarDesc* var = writer_.block().FindVar(variable);
      AddOutput(writer_.Var(variable), writer_.ValueOf(variable),
                var != nullptr && !var->is_data);
    }
  }

  // Adds an output of one element as a value of rank 0.
  void AddNumberOutput(const std::string& variable) {
    VarDesc number = writer_.Var(variable);
    std::string value = writer_.ValueOf(variable);
    const bool reshaped = number.dims.rank() != 0;
    if (reshaped) value = Append("Reshape", {value, Vector({})});
    number.dims = DDim();
    AddOutput(number, value, reshaped);
  }

  std::string Vector(const Ints& values) {
    return writer_.AddConstant(Tensor::FromVector<int64_t>(
        {static_cast<int64_t>(values.size())}, values));
  }

 private:
  GraphProto graph_;
  GraphWriter writer_;
  std::set<std::string> outputs_;
};

Names Defined(OpExport& op, const Names& variables) {
  Names values;
  for (const std::string& variable : variables) {
    values.push_back(op.graph().Define(variable));
  }
  return values;
}

void If(OpExport& op) {
  const IfBlocks blocks = IfBlocksOf(op.op());
  const std::string condition = op.Scalar("Cond");
  BlockGraph then_graph(op, blocks.then_block, blocks.then_outputs);
  then_graph.WriteOps();
  then_graph.AddOutputs(blocks.then_outputs);
  BlockGraph else_graph(op, blocks.else_block, blocks.else_outputs);
  else_graph.WriteOps();
  else_graph.AddOutputs(blocks.else_outputs);
  op.graph().AddNode(
      "If", {condition}, Defined(op, op.op().Output("Out")), {},
      {{"then_branch", then_graph.Done()}, {"else_branch", else_graph.Done()}});
}

int64_t At(const Ints& list, size_t index) {
  return index < list.size() ? list[index] : 0;
}

// Converts flags of reversed sequences to ONNX's lists of zeros and ones.
Ints Directions(const Ints& reversed) {
  Ints directions;
  for (const int64_t each : reversed) {
    directions.push_back(each != 0 ? 1 : 0);
  }
  return directions;
}

Names OutputsOfBlock(const LoopBlock& loop) {
  Names names = loop.carried_out;
  names.insert(names.end(), loop.stacked.begin(), loop.stacked.end());
  if (!loop.condition_out.empty()) names.push_back(loop.condition_out);
  return names;
}

bool SameShape(const DDim& a, const DDim& b) {
  return a.rank_known() && a == b;
}

// ONNX's Scan has no iteration number and no condition, and its carried values
// keep their shapes.
bool IsScan(OpExport& op, const LoopBlock& loop) {
  const bool has_more = op.Has("MaxTrips") || op.Has("Cond") ||
                        !loop.condition_out.empty() ||
                        !loop.condition_in.empty() || !loop.iteration.empty();
  if (loop.slices.empty() || has_more) return false;
  const Program& program = op.graph().program();
  const auto& block = program.blocks()[static_cast<size_t>(loop.block)];
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    const DDim& dims = block.FindVar(loop.carried[i])->dims;
    const VarDesc* next = block.FindVar(loop.carried_out[i]);
    if (!SameShape(dims, op.graph().Var(op.op().Input("Carried")[i]).dims)) {
      return false;
    }
    if (next == nullptr) next = &op.graph().Var(loop.carried_out[i]);
    if (!SameShape(dims, next->dims)) return false;
  }
  return true;
}

void Scan(OpExport& op, const LoopBlock& loop) {
  BlockGraph body(op, loop.block, OutputsOfBlock(loop));
  for (const Names* names : {&loop.carried, &loop.slices}) {
    for (const std::string& name : *names) {
      body.AddInput(name);
    }
  }
  body.WriteOps();
  body.AddOutputs(loop.carried_out);
  body.AddOutputs(loop.stacked);
  AttributeMap attributes = {
      {"num_scan_inputs", static_cast<int64_t>(loop.slices.size())}};
  const auto set = [&](const char* name, const Ints& value) {
    if (!value.empty()) attributes[name] = value;
  };
  set("scan_input_axes", loop.sequence_axes);
  set("scan_input_directions", Directions(loop.sequence_reversed));
  set("scan_output_axes", loop.stacked_axes);
  set("scan_output_directions", Directions(loop.stacked_reversed));
  Names inputs = op.All("Carried");
  const Names sequences = op.All("Sequences");
  inputs.insert(inputs.end(), sequences.begin(), sequences.end());
  Names outputs = Defined(op, op.op().Output("Out"));
  const Names stacked = Defined(op, op.op().Output("Stacked"));
  outputs.insert(outputs.end(), stacked.begin(), stacked.end());
  op.graph().AddNode("Scan", inputs, outputs, attributes,
                     {{"body", body.Done()}});
}

// A sequence that a Loop's iterations index by iteration number.
struct Sequence {
  std::string value;
  std::string last;  // the last index if reversed, else ""
  int64_t axis;
};

// The limit of a Loop's iterations, "" if unknown. Adds the sequences.
std::string Trips(OpExport& op,
                  const LoopBlock& loop,
                  std::vector<Sequence>* sequences) {
  std::string trips = op.Has("MaxTrips") ? op.Scalar("MaxTrips") : "";
  const Names values = op.All("Sequences");
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& variable = op.op().Input("Sequences")[i];
    const int rank = op.graph().Var(variable).dims.rank();
    int64_t axis = At(loop.sequence_axes, i);
    if (axis < 0 && rank < 0) {
      OpExport::Unsupported("the rank of its sequence {} is unknown", variable);
    }
    axis = axis < 0 ? axis + rank : axis;
    const std::string size = op.Reshape(
        op.Append("Shape", {values[i]}, {{"start", axis}, {"end", axis + 1}}),
        {});
    const bool reversed = At(loop.sequence_reversed, i) != 0;
    sequences->push_back({values[i],
                          reversed ? op.Append("Sub", {size, op.Whole(1)}) : "",
                          axis});
    if (i == 0) trips = trips.empty() ? size : op.Append("Min", {trips, size});
  }
  return trips;
}

// A Loop stacks along the first axis, the first iteration first.
void FinishStacked(OpExport& op,
                   const LoopBlock& loop,
                   size_t index,
                   std::string value) {
  const std::string& variable = op.op().Output("Stacked")[index];
  const int rank = op.graph().Var(variable).dims.rank();
  int64_t axis = At(loop.stacked_axes, index);
  if (axis != 0 && rank < 0) {
    OpExport::Unsupported(
        "it stacks {} along axis {}, and the rank of {} is unknown", variable,
        axis, variable);
  }
  axis = axis < 0 ? axis + rank : axis;
  const bool reversed = At(loop.stacked_reversed, index) != 0;
  const auto add = [&](const char* type, const Names& inputs,
                       const AttributeMap& attributes, bool is_last) {
    value = is_last ? op.graph().Define(variable)
                    : op.graph().NewName(variable + "." + type);
    op.graph().AddNode(type, inputs, {value}, attributes);
  };
  if (reversed) {
    add("Slice",
        {value, op.Vector({-1}),
         op.Vector({std::numeric_limits<int64_t>::min()}), op.Vector({0}),
         op.Vector({-1})},
        {}, axis == 0);
  }
  if (axis == 0) return;
  Ints order;
  for (int64_t i = 1; i < rank; ++i) {
    order.push_back(i);
  }
  order.insert(order.begin() + axis, 0);
  add("Transpose", {value}, {{"perm", order}}, true);
}

bool IsStackedFirst(const LoopBlock& loop, size_t index) {
  return At(loop.stacked_axes, index) == 0 &&
         At(loop.stacked_reversed, index) == 0;
}

void AddLoopInputs(const LoopBlock& loop,
                   const std::vector<Sequence>& sequences,
                   BlockGraph* body,
                   std::string* condition) {
  const std::string iteration =
      body->AddNumber(loop.iteration, DType::kInt64, "iteration");
  *condition = body->AddNumber(loop.condition_in, DType::kBool, "condition");
  for (const std::string& name : loop.carried) {
    body->AddInput(name);
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Sequence& from = sequences[i];
    const std::string index = from.last.empty()
                                  ? iteration
                                  : body->Append("Sub", {from.last, iteration});
    body->Set(loop.slices[i], "Gather", {from.value, index},
              {{"axis", from.axis}});
  }
}

void WriteLoop(OpExport& op, const LoopBlock& loop) {
  std::vector<Sequence> sequences;
  const std::string trips = Trips(op, loop, &sequences);
  std::string begins = op.Has("Cond") ? op.Scalar("Cond") : "";
  // Without this input ONNX's Loop ignores the condition.
  if (begins.empty() && !loop.condition_out.empty()) {
    Tensor yes;
    yes.mutable_data<bool>(DDim(), CPUPlace())[0] = true;
    begins = op.Constant(yes);
  }
  BlockGraph body(op, loop.block, OutputsOfBlock(loop));
  std::string condition;
  AddLoopInputs(loop, sequences, &body, &condition);
  body.WriteOps();
  if (loop.condition_out.empty()) {
    body.AddOutput({.name = {}, .dtype = DType::kBool, .dims = DDim()},
                   condition, false);
  } else {
    body.AddNumberOutput(loop.condition_out);
  }
  body.AddOutputs(loop.carried_out);
  body.AddOutputs(loop.stacked);

  Names inputs = {trips, begins};
  const Names carried = op.All("Carried");
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  Names outputs = Defined(op, op.op().Output("Out"));
  const size_t first = outputs.size();
  const Names& stacked = op.op().Output("Stacked");
  for (size_t i = 0; i < stacked.size(); ++i) {
    outputs.push_back(IsStackedFirst(loop, i)
                          ? op.graph().Define(stacked[i])
                          : op.graph().NewName(stacked[i] + ".Loop"));
  }
  op.graph().AddNode("Loop", inputs, outputs, {}, {{"body", body.Done()}});
  for (size_t i = 0; i < stacked.size(); ++i) {
    if (!IsStackedFirst(loop, i)) {
      FinishStacked(op, loop, i, outputs[first + i]);
    }
  }
}

void Loop(OpExport& op) {
  const LoopBlock loop = LoopBlockOf(op.op());
  return IsScan(op, loop) ? Scan(op, loop) : WriteLoop(op, loop);
}

}  // namespace

const ExporterTable kControlFlowExporters = {{"if", If}, {"loop", Loop}};

}  // namespace sluice::onnx
