#include "sluice/onnx/export/op_export.h"

#include <algorithm>

#include "sluice/framework/choice/resolver.h"
#include "sluice/framework/costs/machine.h"
#include "sluice/framework/costs/record.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/onnx/export/exporters.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

OpExport::OpExport(const OpDesc& op, Widened widened, GraphWriter* graph)
    : op_(op),
      schema_(Registry::Global().Schema(op.type)),
      widened_(widened),
      graph_(*graph) {}

bool OpExport::Has(std::string_view input) const {
  return !op_.Input(input).empty();
}

const std::string& OpExport::Variable(std::string_view input) const {
  return op_.Input(input).at(0);
}

DType OpExport::Computed(DType dtype) const {
  const bool widened =
      (dtype == DType::kBFloat16 && widened_ != Widened::kNone) ||
      (dtype == DType::kFloat16 && widened_ == Widened::kHalves);
  return widened ? DType::kFloat32 : dtype;
}

std::string OpExport::In(std::string_view input) {
  return Has(input) ? All(input)[0] : "";
}

Names OpExport::All(std::string_view input) {
  Names values;
  for (const std::string& variable : op_.Input(input)) {
    const std::string& value = graph_.ValueOf(variable);
    const DType dtype = graph_.Var(variable).dtype;
    if (Computed(dtype) == dtype) {
      values.push_back(value);
      continue;
    }
    std::string& cast = casts_[value];
    if (cast.empty()) cast = Cast(value, Computed(dtype));
    values.push_back(cast);
  }
  return values;
}

Names OpExport::AllInputs() {
  Names values;
  for (const ArgDef& def : schema_.inputs()) {
    values.push_back(In(def.name));
  }
  return values;
}

DDim OpExport::Dims(std::string_view input) const {
  return graph_.Var(Variable(input)).dims;
}

DDim OpExport::OutDims(std::string_view output) const {
  return graph_.Var(op_.Output(output).at(0)).dims;
}

int OpExport::Rank(std::string_view input) const {
  const int rank = Dims(input).rank();
  if (rank < 0) Unsupported("the rank of its input {} is unknown", input);
  return rank;
}

DType OpExport::TypeOf(std::string_view input) const {
  return Computed(graph_.Var(Variable(input)).dtype);
}

DType OpExport::OutType(std::string_view output) const {
  return Computed(graph_.Var(op_.Output(output).at(0)).dtype);
}

const Attribute& OpExport::Attr(std::string_view attribute) const {
  const auto found = op_.attributes.find(attribute);
  if (found == op_.attributes.end()) {
    Unsupported("its attribute {} has no value", attribute);
  }
  return found->second;
}

bool OpExport::Bool(std::string_view attribute) const {
  return std::get<bool>(Attr(attribute));
}
int64_t OpExport::Int(std::string_view attribute) const {
  return std::get<int64_t>(Attr(attribute));
}
double OpExport::Float(std::string_view attribute) const {
  return std::get<double>(Attr(attribute));
}
const std::string& OpExport::String(std::string_view attribute) const {
  return std::get<std::string>(Attr(attribute));
}
const Ints& OpExport::List(std::string_view attribute) const {
  return std::get<Ints>(Attr(attribute));
}

bool OpExport::IsRead(std::string_view output) const {
  const auto& variables = op_.Output(output);
  return !variables.empty() && graph_.IsRead(variables[0]);
}

void OpExport::AllowOnly(
    std::initializer_list<std::string_view> outputs) const {
  for (const ArgDef& def : schema_.outputs()) {
    const bool allowed =
        std::find(outputs.begin(), outputs.end(), def.name) != outputs.end();
    if (!allowed && IsRead(def.name)) {
      Unsupported("its output {} is read, which ONNX's operator does not have",
                  def.name);
    }
  }
}

std::string OpExport::Append(const std::string& type,
                             const Names& inputs,
                             const AttributeMap& attributes) {
  std::string output = "op";
  for (const auto& [argument, variables] : op_.outputs) {
    if (variables.empty()) continue;
    output = variables[0];
    break;
  }
  std::string name = graph_.NewName(output + "." + type);
  graph_.AddNode(type, inputs, {name}, attributes);
  return name;
}

void OpExport::AddFinal(const std::string& type,
                        const Names& inputs,
                        const AttributeMap& attributes,
                        const Names& variables) {
  Names outputs;
  std::vector<std::pair<std::string, std::string>> narrowed;
  for (const std::string& variable : variables) {
    if (variable.empty()) {
      outputs.emplace_back();
      continue;
    }
    const DType dtype = graph_.Var(variable).dtype;
    if (Computed(dtype) == dtype) {
      outputs.push_back(graph_.Define(variable));
    } else {
      outputs.push_back(graph_.NewName(variable + ".float32"));
      narrowed.emplace_back(outputs.back(), variable);
    }
  }
  graph_.AddNode(type, inputs, outputs, attributes);
  for (const auto& [value, variable] : narrowed) {
    const DType dtype = graph_.Var(variable).dtype;
    graph_.AddNode("Cast", {value}, {graph_.Define(variable)}, {{"to", dtype}});
  }
}

void OpExport::Finish(const std::string& type,
                      const Names& inputs,
                      const AttributeMap& attributes,
                      std::string_view output) {
  AddFinal(type, inputs, attributes, {op_.Output(output).at(0)});
}

void OpExport::FinishAll(const std::string& type,
                         const Names& inputs,
                         const AttributeMap& attributes,
                         std::initializer_list<std::string_view> outputs) {
  Names variables;
  for (const std::string_view output : outputs) {
    const auto& made = op_.Output(output);
    variables.push_back(made.empty() ? "" : made[0]);
  }
  while (variables.back().empty()) {
    variables.pop_back();
  }
  AddFinal(type, inputs, attributes, variables);
}

bool OpExport::HasLastChannels() const {
  return schema_.FindAttr("data_format") != nullptr &&
         String("data_format") == "NHWC" && Rank(schema_.inputs()[0].name) > 2;
}

std::string OpExport::Image() {
  const std::string& input = schema_.inputs()[0].name;
  if (!HasLastChannels()) return In(input);
  Ints order = {0, Rank(input) - 1};
  for (int i = 1; i + 1 < Rank(input); ++i) {
    order.push_back(i);
  }
  return Transpose(In(input), order);
}

void OpExport::FinishImage(const std::string& type,
                           const Names& inputs,
                           const AttributeMap& attributes,
                           std::string_view output) {
  if (!HasLastChannels()) return Finish(type, inputs, attributes, output);
  Ints order = {0};
  for (int i = 2; i < Rank(schema_.inputs()[0].name); ++i) {
    order.push_back(i);
  }
  order.push_back(1);
  Finish("Transpose", {Append(type, inputs, attributes)}, {{"perm", order}},
         output);
}

void OpExport::FinishReshape(const std::string& x, const Ints& sizes) {
  AttributeMap attributes;
  if (std::count(sizes.begin(), sizes.end(), 0) > 0) {
    attributes["allowzero"] = int64_t{1};
  }
  Finish("Reshape", {x, Vector(sizes)}, attributes);
}

std::string OpExport::Constant(const Tensor& value) {
  return graph_.AddConstant(value);
}

std::string OpExport::Vector(const Ints& values) {
  return Constant(Tensor::FromVector<int64_t>(
      {static_cast<int64_t>(values.size())}, values));
}

std::string OpExport::Whole(int64_t value) {
  return Constant(Tensor::FromVector<int64_t>({}, {value}));
}

std::string OpExport::Number(double value, DType dtype) {
  return Constant(RunOp("cast",
                        {{"X", Tensor::FromVector<double>({}, {value})}},
                        {{"dtype", dtype}})
                      .at("Out"));
}

std::string OpExport::Scalar(std::string_view input) {
  return Dims(input).rank() == 0 ? In(input) : Reshape(In(input), {});
}

std::string OpExport::Cast(const std::string& x, DType dtype) {
  return Append("Cast", {x}, {{"to", dtype}});
}

std::string OpExport::Reshape(const std::string& x, const Ints& shape) {
  return Append("Reshape", {x, Vector(shape)});
}

std::string OpExport::Transpose(const std::string& x, const Ints& order) {
  return Append("Transpose", {x}, {{"perm", order}});
}

std::string OpExport::Operand(std::string_view operand) {
  const ArgDef& def = *schema_.FindInput(operand);
  const bool list = schema_.FindAttr(def.attribute)->type == AttrType::kInts;
  if (!Has(operand)) {
    return list ? Vector(List(def.attribute)) : Whole(Int(def.attribute));
  }
  std::string value = In(operand);
  if (TypeOf(operand) != DType::kInt64) value = Cast(value, DType::kInt64);
  if (list || Dims(operand).rank() == 0) return value;
  return Reshape(value, {});
}

namespace {

// Why an op cannot be part of a model that computes outputs from inputs; "" if
// it can.
std::string WhyNot(const GraphWriter& graph, const OpDesc& op) {
  if (op.purpose != OpPurpose::kForward) {
    return Format(
        "it is {} op: export program.clone(for_test=True) (C++: "
        "CloneForTest), or name outputs that need no such op",
        op.purpose == OpPurpose::kBackward ? "a gradient" : "an optimizer's");
  }
  const auto test = op.attributes.find("is_test");
  if (test != op.attributes.end() && test->second == Attribute(true)) {
    return "";
  }
  for (const auto& [argument, vars] : op.outputs) {
    for (const std::string& var : vars) {
      if (!graph.Var(var).persistable) continue;
      return Format(
          "it changes parameter {}; export "
          "program.clone(for_test=True) (C++: CloneForTest)",
          Shown(var));
    }
  }
  return "";
}

std::string FirstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

void OpsWriter::Write(GraphWriter* graph) {
  for (const OpDesc& op : graph->block().ops) {
    ++op_count_;
    const std::string reason = WhyNot(*graph, op);
    if (!reason.empty()) {
      Refuse(op, reason);
      is_training_ = true;
    } else {
      Write(op, graph);
    }
  }
}

void OpsWriter::Write(const OpDesc& op, GraphWriter* graph) {
  graph->BeginOp(op);
  AddNotes(op, graph);
  try {
    ExportOp(op, graph);
  } catch (Error& error) {
    if (error.check_id() == OpExport::kFormId) {
      return Refuse(op, FirstLine(error.what()));
    }
    AddLocation(op.location, &error);
    throw;
  }
}

void OpsWriter::AddNotes(const OpDesc& op, GraphWriter* graph) const {
  // Blocks have their own plans.
  if (options_.plan == nullptr || graph->block().index > 0) return;
  if (op.outputs.empty()) return;
  const auto notes =
      NotesOfOp(*options_.plan, whole_, op.outputs[0].second.at(0));
  for (const auto& [key, value] : notes) {
    graph->DescribeOp(key, value);
  }
}

void OpsWriter::Refuse(const OpDesc& op, const std::string& reason) {
  const std::string made = op.outputs.empty() ? "" : op.outputs[0].second.at(0);
  const std::string where = DescribeLocation(op.location);
  refused_.push_back(Format("{} (makes {}): {}{}", op.type, Shown(made), reason,
                            where.empty() ? "" : "; " + where));
}

void OpsWriter::RaiseRefused() const {
  constexpr size_t kMostListed = 100;
  if (refused_.empty()) return;
  std::string lines;
  for (size_t i = 0; i < std::min(refused_.size(), kMostListed); ++i) {
    lines += "\n  " + refused_[i];
  }
  if (refused_.size() > kMostListed) {
    lines += Format("\n  and {} more", refused_.size() - kMostListed);
  }
  if (is_training_) {
    Raise(ErrorCode::kInvalidArgument, "onnx.save_training",
          "{} of {} ops cannot be exported, some of them because "
          "they train:{}",
          refused_.size(), op_count_, lines);
  }
  Raise(ErrorCode::kUnimplemented, "onnx.no_counterpart",
        "{} of {} ops cannot be exported to ONNX (opset {}):{}",
        refused_.size(), op_count_, options_.opset, lines);
}

namespace {

bool Makes(const OpDesc& op, const std::string& variable) {
  return std::any_of(
      op.outputs.begin(), op.outputs.end(), [&](const auto& output) {
        const auto& [argument, vars] = output;
        return std::find(vars.begin(), vars.end(), variable) != vars.end();
      });
}

void AddTime(const Candidate& candidate, Properties* notes) {
  const Record* record = candidate.record;
  if (record == nullptr || record->rounds == 0) return;
  notes->emplace_back("sluice.measured_microseconds",
                      Format("{:.3f}", record->median * 1e6));
  notes->emplace_back("sluice.measured_date", record->date);
  notes->emplace_back("sluice.checked", ToString(record->verdict));
}

}  // namespace

Properties NotesOfOp(const Plan& plan,
                     const Program& program,
                     const std::string& variable) {
  const auto& ops = program.block().ops;
  const auto covers = [&](const Decision& decision) {
    return std::any_of(
        decision.covers.begin(), decision.covers.end(), [&](int index) {
          return static_cast<size_t>(index) < ops.size() &&
                 Makes(ops[static_cast<size_t>(index)], variable);
        });
  };
  const auto& decisions = plan.decisions();
  const auto found = std::find_if(decisions.begin(), decisions.end(), covers);
  if (found == decisions.end()) return {};
  const Decision& decision = *found;
  Properties notes = {{"sluice.kernel", ToString(*decision.kernel)},
                      {"sluice.reason", decision.reason}};
  std::string together;
  for (const int index : decision.covers) {
    if (static_cast<size_t>(index) >= ops.size()) continue;
    together +=
        (together.empty() ? "" : ", ") + ops[static_cast<size_t>(index)].type;
  }
  if (decision.covers.size() > 1) {
    notes.emplace_back("sluice.computed_together", together);
  }
  for (const Candidate& candidate : decision.candidates()) {
    if (candidate.kernel == decision.kernel) AddTime(candidate, &notes);
  }
  return notes;
}

Properties NotesOfPlan(const Plan& plan) {
  return {{"sluice.machine", MachineId().text},
          {"sluice.place", ToString(plan.place())},
          {"sluice.threads", Format("{}", plan.num_threads())}};
}

}  // namespace sluice::onnx
