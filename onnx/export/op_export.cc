#include "sluice/onnx/export/op_export.h"

#include <algorithm>
#include <numeric>

#include "sluice/framework/run/run_op.h"

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

Ints ChannelsLast(int rank) {
  Ints order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

Ints ChannelsSecond(int rank) {
  Ints order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}

}  // namespace sluice::onnx
