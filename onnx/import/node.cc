#include "sluice/onnx/import/node.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "sluice/framework/op/operand.h"
#include "sluice/framework/program/backward.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/value_map.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/cancel.h"

namespace sluice::onnx {

Node::Node(const NodeProto& proto,
           std::string location,
           ValueMap* values,
           const ImportGraph& import_graph)
    : proto_(proto),
      location_(std::move(location)),
      values_(*values),
      import_graph_(import_graph),
      attributes_(proto) {}

const std::string& Node::type() const {
  return proto_.op_type();
}

int Node::input_count() const {
  return proto_.input_size();
}

bool Node::HasInput(int index) const {
  return index < proto_.input_size() && !proto_.input(index).empty() &&
         !values_.IsAbsent(proto_.input(index));
}

const std::string& Node::InputName(int index) const {
  if (index >= proto_.input_size() || proto_.input(index).empty()) {
    Raise(ErrorCode::kInvalidArgument, "onnx.input_missing",
          "input {} is missing: the node has {} inputs", index,
          proto_.input_size());
  }
  return proto_.input(index);
}

const std::string& Node::In(int index) const {
  return values_.Name(InputName(index));
}

DDim Node::Dims(int index) const {
  return values_.DimsOf(InputName(index));
}

DType Node::TypeOf(int index) const {
  return values_.DTypeOf(InputName(index));
}

const Tensor* Node::Constant(int index) const {
  return values_.FindConstant(InputName(index));
}

Ints Node::ConstantInts(int index, const char* what) const {
  const Tensor* constant = Constant(index);
  if (constant == nullptr) {
    Unsupported("its {} ({}) are computed when the model runs", what,
                Shown(InputName(index)));
  }
  SLUICE_ENFORCE(constant->dims().rank() <= 1, ErrorCode::kInvalidArgument,
                 "onnx.constant_rank",
                 "its {} ({}) have shape {}; expected a list", what,
                 Shown(InputName(index)), constant->dims());
  if (constant->dtype() == DType::kInt32) {
    const auto values = constant->ToVector<int32_t>();
    return {values.begin(), values.end()};
  }
  SLUICE_ENFORCE(constant->dtype() == DType::kInt64,
                 ErrorCode::kInvalidArgument, "onnx.constant_ints",
                 "its {} ({}) are {}; expected int64", what,
                 Shown(InputName(index)), constant->dtype());
  return constant->ToVector<int64_t>();
}

const Tensor* Node::ConstantOf(const std::string& variable) const {
  return values_.FindConstant(variable);
}

const OpDesc* Node::OnlyReadHere(int index) const {
  return OnlyReadOnce(InputName(index));
}

const OpDesc* Node::OnlyReadOnce(const std::string& value) const {
  return values_.ReadCount(value) == 1 ? values_.FindWriter(value) : nullptr;
}

int Node::output_count() const {
  return proto_.output_size();
}

bool Node::HasOutput(int index) const {
  return index < proto_.output_size() && !proto_.output(index).empty();
}

bool Node::ReadsOutput(int index) const {
  return HasOutput(index) && values_.IsRead(proto_.output(index));
}

const std::string& Node::Out(int index) const {
  return values_.Name(proto_.output(index));
}

void Node::AllowOutputs(int index) const {
  for (; index < proto_.output_size(); ++index) {
    if (ReadsOutput(index)) {
      Unsupported("its output {} ({}) is read", index,
                  Shown(proto_.output(index)));
    }
  }
}

namespace {

// The cost of an op in the pass that makes gradients.
constexpr uint64_t kLookBytes = 256;

}  // namespace

void Node::NeedOp(const Inputs& inputs, const Inputs& outputs) const {
  uint64_t names = location_.size();
  for (const Inputs* arguments : {&inputs, &outputs}) {
    for (const auto& [argument, vars] : *arguments) {
      for (const std::string& name : vars) {
        names += sizeof(std::string) + name.size();
      }
    }
  }
  cost().Need("its ops", kOpBytes + 4 * names);
}

std::string Node::OutputName(int index, const std::string& end) {
  return HasOutput(index) ? proto_.output(index) : InnerName(end);
}

const std::string& Node::FirstOutput() const {
  return *std::find_if(
      proto_.output().begin(), proto_.output().end(),
      [](const std::string& output) { return !output.empty(); });
}

std::string Node::InnerName(const std::string& end) {
  return values_.NewName(FirstOutput() + "." + end);
}

bool Node::Fold(const std::string& type,
                const Inputs& inputs,
                const AttributeMap& attributes,
                const Inputs& outputs) {
  if (inputs.empty() || outputs.size() != 1) return false;
  if (Registry::Global().Schema(type).random()) return false;
  std::vector<std::pair<std::string, Tensor>> values;
  for (const auto& [argument, names] : inputs) {
    for (const std::string& name : names) {
      const Tensor* constant = values_.FindConstant(name);
      if (constant == nullptr) return false;
      values.emplace_back(argument, *constant);
    }
  }
  const auto& [argument, names] = outputs[0];
  const std::optional<Tensor> value =
      ComputeConstant(type, values, attributes, argument, &values_.cost());
  if (value) values_.AddConstant(names[0], *value);
  return value.has_value();
}

void Node::SetKnownAttributes(const std::string& type,
                              Inputs* inputs,
                              AttributeMap* attributes) {
  const OpSchema& schema = Registry::Global().Schema(type);
  for (const ArgDef& def : schema.inputs()) {
    if (def.attribute.empty()) continue;
    const auto given = std::find_if(
        inputs->begin(), inputs->end(),
        [&](const auto& input) { return input.first == def.name; });
    if (given == inputs->end()) continue;
    const Tensor* constant = values_.FindConstant(given->second[0]);
    if (constant == nullptr) continue;
    values_.cost().Need("its attributes", constant->bytes());
    (*attributes)[def.attribute] =
        OperandValue(type, def, *schema.FindAttr(def.attribute), *constant);
    inputs->erase(given);
  }
}

namespace {

// Whether the CPU has no kernel for `half`, but one for float32.
bool ComputesOnlyWide(const OpSchema& schema, DType half) {
  const auto kernels = Registry::Global().Kernels(schema.name());
  const auto computes = [&](DType dtype) {
    return std::any_of(kernels.begin(), kernels.end(),
                       [&](const KernelDef* kernel) {
                         return kernel->key.place == PlaceKind::kCPU &&
                                kernel->key.dtype == dtype;
                       });
  };
  return computes(DType::kFloat32) && !computes(half);
}

}  // namespace

bool Node::AddWidened(const std::string& type,
                      Inputs* inputs,
                      const AttributeMap& attributes,
                      const Inputs& outputs) {
  const OpSchema& schema = Registry::Global().Schema(type);
  std::set<std::string> widened;  // type variables
  DType half = DType::kFloat32;
  for (auto& [argument, names] : *inputs) {
    const ArgDef* def = schema.FindInput(argument);
    for (std::string& name : names) {
      const DType dtype = DTypeOf(name);
      if (dtype != DType::kFloat16 && dtype != DType::kBFloat16) continue;
      if (def == nullptr || !ComputesOnlyWide(schema, dtype)) continue;
      widened.insert(def->dtype);
      half = dtype;
      name = Cast(name, DType::kFloat32);
    }
  }
  if (widened.empty()) return false;
  Inputs wide = outputs;
  for (auto& [argument, names] : wide) {
    if (!widened.contains(schema.FindOutput(argument)->dtype)) continue;
    for (std::string& name : names) {
      name = InnerName("float32");
    }
  }
  Add(type, std::move(*inputs), attributes, wide);
  for (size_t i = 0; i < wide.size(); ++i) {
    for (size_t k = 0; k < wide[i].second.size(); ++k) {
      const std::string &name = wide[i].second[k],
                        &result = outputs[i].second[k];
      if (name == result) continue;
      Add("cast", {{"X", {name}}}, {{"dtype", half}}, {{"Out", {result}}});
    }
  }
  return true;
}

void Node::Add(const std::string& type,
               Inputs inputs,
               AttributeMap attributes,
               Inputs outputs) {
  CheckCancelled();  // a node may become many ops
  NeedOp(inputs, outputs);
  if (AddWidened(type, &inputs, attributes, outputs)) return;
  if (Fold(type, inputs, attributes, outputs)) return;
  SetKnownAttributes(type, &inputs, &attributes);
  for (const auto& [argument, names] : inputs) {
    for (const std::string& name : names) {
      values_.MakeVariable(name);
    }
  }
  values_.program().AppendOp(type, std::move(inputs), std::move(attributes),
                             {location_, 0}, std::move(outputs));
}

std::string Node::Append(const std::string& type,
                         Inputs inputs,
                         AttributeMap attributes,
                         const std::string& argument) {
  std::string name = InnerName(type);
  Add(type, std::move(inputs), std::move(attributes), {{argument, {name}}});
  return name;
}

Inputs Node::InputsOf(const std::string& op, int first) const {
  Inputs inputs;
  for (const ArgDef& def : Registry::Global().Schema(op).inputs()) {
    if (HasInput(first) || !def.traits.optional) {
      inputs.emplace_back(def.name, ArgVars{In(first)});
    }
    ++first;
  }
  return inputs;
}

ArgVars Node::AllInputs() const {
  ArgVars all;
  for (int i = 0; i < input_count(); ++i) {
    all.push_back(In(i));
  }
  return all;
}

std::string Node::Slice(std::string x, int64_t begin, int64_t end, Ints axes) {
  return Unary("slice", std::move(x),
               {{"starts", Ints{begin}},
                {"ends", Ints{end}},
                {"axes", std::move(axes)}});
}

std::string Node::Gather(const Operands& operands, int64_t axis) {
  return Append("gather", {{"X", {operands.x}}, {"Index", {operands.y}}},
                {{"axis", axis}});
}

std::string Node::Where(const Choice& choice) {
  return Append("where", {{"Condition", {choice.condition}},
                          {"X", {choice.x}},
                          {"Y", {choice.y}}});
}

std::string Node::Count(const std::string& end) {
  const std::string start = Whole(0);
  return Append("range",
                {{"Start", {start}}, {"End", {end}}, {"Step", {Whole(1)}}});
}

std::string Node::AppendOperator(const std::string& type,
                                 const ArgVars& inputs,
                                 int64_t opset) {
  std::string result = InnerName(type);
  NodeProto proto = proto_;
  proto.set_op_type(type);
  proto.mutable_input()->Assign(inputs.begin(), inputs.end());
  proto.clear_output();
  proto.add_output(result);
  Node node(proto, location_, &values_, import_graph_);
  if (const Handler handler = FindHandler(type, opset)) {
    handler(node);
  } else {
    ImportCounterpart(*FindCounterpart(type), node);
  }
  attributes_.AddAsked(node.attributes_);
  return result;
}

std::string Node::Cast(const std::string& x, DType dtype) {
  if (DTypeOf(x) == dtype) return x;
  return Append("cast", {{"X", {x}}}, {{"dtype", dtype}});
}

void Node::Finish(const std::string& type,
                  Inputs inputs,
                  AttributeMap attributes,
                  const std::string& argument,
                  const Names& more) {
  FinishWith(type, std::move(inputs), std::move(attributes), argument, more);
}

Names Node::FinishWith(const std::string& type,
                       Inputs inputs,
                       AttributeMap attributes,
                       const std::string& argument,
                       const Names& more) {
  return AddMore(type, std::move(inputs), std::move(attributes),
                 {{argument, {OutputName(0)}}}, more);
}

Names Node::AppendAll(const std::string& type,
                      Inputs inputs,
                      AttributeMap attributes,
                      const Names& arguments) {
  return AddMore(type, std::move(inputs), std::move(attributes), {}, arguments);
}

Names Node::AddMore(const std::string& type,
                    Inputs inputs,
                    AttributeMap attributes,
                    Inputs outputs,
                    const Names& more) {
  Names names;
  for (const std::string& other : more) {
    names.push_back(InnerName(other));
    outputs.emplace_back(other, ArgVars{names.back()});
  }
  Add(type, std::move(inputs), std::move(attributes), std::move(outputs));
  return names;
}

void Node::FinishAll(const std::string& type,
                     Inputs inputs,
                     AttributeMap attributes,
                     const Names& arguments) {
  Inputs outputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto index = static_cast<int>(i);
    outputs.emplace_back(arguments[i],
                         ArgVars{OutputName(index, arguments[i])});
  }
  Add(type, std::move(inputs), std::move(attributes), std::move(outputs));
}

void Node::FinishOutput(int index,
                        const std::string& type,
                        Inputs inputs,
                        AttributeMap attributes) {
  Add(type, std::move(inputs), std::move(attributes),
      {{"Out", {OutputName(index)}}});
}

Names Node::AppendGradients(const std::string& y, const Names& xs) {
  BackwardOptions options;
  options.parameters = xs;
  for (const std::string& x : xs) {
    values_.program().SetStopGradient(values_.Name(x), false);
  }
  const auto count = [this] { return values_.program().block().ops.size(); };
  const size_t before = count();
  // The pass visits each op, which may get a gradient and a sum of gradients.
  values_.cost().Need("gradients", before, kLookBytes);
  values_.cost().Check("gradients", before, 2 * kOpBytes);
  const auto made = AppendBackward(values_.program(), values_.Name(y), options,
                                   {location_, 0});
  values_.cost().Need("gradients", count() - before, kOpBytes);
  Names gradients;
  for (const std::string& x : xs) {
    const auto found =
        std::find_if(made.begin(), made.end(),
                     [&](const auto& pair) { return pair.param == x; });
    gradients.push_back(found == made.end() ? "" : found->grad);
  }
  return gradients;
}

void Node::FinishConstant(Tensor value) {
  values_.AddConstant(OutputName(0), std::move(value));
}

std::string Node::NewConstant(Tensor value) {
  values_.cost().Need("its constants", value.bytes());
  std::string name = InnerName("constant");
  values_.AddConstant(name, std::move(value));
  return name;
}

std::string Node::Number(double value, DType dtype) {
  return Cast(NewConstant(Tensor::FromVector<double>({}, {value})), dtype);
}

std::string Node::Whole(int64_t value) {
  return NewConstant(Tensor::FromVector<int64_t>({}, {value}));
}

std::string Node::Vector(const Ints& values) {
  return NewConstant(Tensor::FromVector<int64_t>(
      {static_cast<int64_t>(values.size())}, values));
}

DDim Node::DimsOf(const std::string& variable) const {
  return values_.DimsOf(variable);
}

Tensor Node::NewTable(const DDim& dims) const {
  cost().Check("its table of indices", static_cast<uint64_t>(dims.numel()),
               sizeof(int64_t));
  Tensor table;
  table.Resize(dims);
  table.mutable_data<int64_t>(CPUPlace());
  return table;
}

DType Node::DTypeOf(const std::string& variable) const {
  return values_.DTypeOf(variable);
}

int64_t Node::SizeOf(const std::string& variable, int axis) const {
  const DDim dims = DimsOf(variable);
  return dims.rank_known() ? dims.at(axis) : kUnknownDim;
}

int64_t AxisOf(int64_t axis, int64_t rank) {
  SLUICE_ENFORCE(axis >= -rank && axis < rank, ErrorCode::kInvalidArgument,
                 "onnx.axis", "axis {} is none of rank {}; expected {} to {}",
                 axis, rank, -rank, rank - 1);
  return axis < 0 ? axis + rank : axis;
}

int RankOf(const Node& node, int index) {
  const int rank = node.Dims(index).rank();
  if (rank < 0) Node::Unsupported("the rank of input {} is unknown", index);
  return rank;
}

int64_t AxisOfInput(const Node& node, int index, int64_t axis) {
  const bool counted = axis < 0 || node.Dims(index).rank_known();
  return AxisOf(axis, counted ? RankOf(node, index) : DDim::kMaxRank);
}

}  // namespace sluice::onnx
