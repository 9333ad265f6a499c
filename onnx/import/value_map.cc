#include "sluice/onnx/import/value_map.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/import/sequences.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

ValueMap::ValueMap(const GraphProto& graph, ImportCost* cost) : cost_(*cost) {
  names_.TakeAll(graph, /*subgraphs=*/true);
  NoteReads(graph);
}

void ValueMap::NoteReads(const GraphProto& graph) {
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) {
      ++read_[input];
    }
    VisitSubgraphs(node, [this](const GraphProto& inner) { NoteReads(inner); });
    needs_table_ = needs_table_ || NeedsTable(node.op_type());
  }
  for (const auto& output : graph.output()) {
    ++read_[output.name()];
  }
}

namespace {

// Returns whether a constant may be used for shapes and indices: few integers,
// which must be known when a plan is prepared.
bool IsOperand(const Tensor& constant) {
  constexpr int64_t kMostElements = 64;
  return constant.numel() <= kMostElements && !IsFloating(constant.dtype()) &&
         !IsStoredNumber(constant.dtype());
}

uint64_t BytesOfSequence(const Names& sequence) {
  uint64_t bytes = 0;
  for (const std::string& tensor : sequence) {
    bytes += sizeof(std::string) + tensor.size();
  }
  return bytes;
}

}  // namespace

void ValueMap::AddConstant(const std::string& name, Tensor value) {
  constants_[name] = std::move(value);
}

const Tensor* ValueMap::FindConstant(const std::string& name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? nullptr : &found->second;
}

const Names* ValueMap::FindSequence(const std::string& name) const {
  const auto found = sequences_.find(name);
  return found == sequences_.end() ? nullptr : &found->second;
}

void ValueMap::AddSequence(const std::string& name, Names tensors) {
  cost_.Need("sequences", BytesOfSequence(tensors));
  sequences_[name] = std::move(tensors);
}

Names& ValueMap::MoveSequence(const std::string& from, const std::string& to) {
  Names& tensors = sequences_.find(from)->second;
  const bool copies = ReadCount(from) > 1;
  if (copies) cost_.Need("sequences", BytesOfSequence(tensors));
  Names& moved = sequences_[to];
  moved = copies ? tensors : std::move(tensors);
  return moved;
}

std::vector<int64_t> ValueMap::MapKeys(const std::string& name) const {
  const auto found = map_keys_.find(name);
  return found == map_keys_.end() ? std::vector<int64_t>() : found->second;
}

const VarDesc& ValueMap::VarOf(const std::string& name) const {
  SLUICE_ENFORCE(FindSequence(name) == nullptr, ErrorCode::kUnimplemented,
                 "onnx.sequence",
                 "{} is a sequence of tensors, which only operators of "
                 "sequences take",
                 Shown(name));
  SLUICE_ENFORCE(!IsAbsent(name), ErrorCode::kUnimplemented, "onnx.absent",
                 "{} is an optional value without a value", Shown(name));
  return program_.FindVar(name);
}

DDim ValueMap::DimsOf(const std::string& name) const {
  const Tensor* constant = FindConstant(name);
  return constant != nullptr ? constant->dims() : VarOf(name).dims;
}

DType ValueMap::DTypeOf(const std::string& name) const {
  const Tensor* constant = FindConstant(name);
  return constant != nullptr ? constant->dtype() : VarOf(name).dtype;
}

int ValueMap::ReadCount(const std::string& name) const {
  const auto found = read_.find(name);
  return found == read_.end() ? 0 : found->second;
}

const OpDesc* ValueMap::FindWriter(const std::string& name) const {
  constexpr size_t kLast = 32;  // bounds the time for long models
  const auto& ops = program_.blocks()[program_.current_block()].ops;
  for (size_t i = ops.size(); i-- > 0 && i + kLast >= ops.size();) {
    for (const auto& [argument, vars] : ops[i].outputs) {
      if (!vars.empty() && vars[0] == name) return &ops[i];
    }
  }
  return nullptr;
}

void ValueMap::AddToProgram(const std::string& name, const Tensor& value) {
  OpDesc op;
  op.type = "assign_value";
  op.outputs = {{"Out", {name}}};
  op.attributes["shape"] =
      std::vector<int64_t>(value.dims().begin(), value.dims().end());
  op.attributes["dtype"] = value.dtype();
  std::vector<int64_t> elements;
  VisitDType(value.dtype(), [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      const T* first = value.data<T>();
      // The int64 keeps the bits of a uint64, and op cast restores them.
      elements.assign(first, first + value.numel());
    }
  });
  op.attributes["values"] = std::vector<double>();
  op.attributes["int_values"] = std::move(elements);
  program_.AppendOp(std::move(op));
}

const std::string& ValueMap::Name(const std::string& name) const {
  // Does not return the variable's own string, which may move.
  if (FindConstant(name) == nullptr) VarOf(name);
  return name;
}

void ValueMap::MakeVariable(const std::string& name) {
  const Tensor* constant = FindConstant(name);
  if (constant == nullptr || program_.HasVar(name)) return;
  if (IsOperand(*constant)) return AddToProgram(name, *constant);
  program_.Persistable(name, constant->dtype(), constant->dims());
  parameters_.emplace_back(name, *constant);
}

const std::string& ValueMap::AddTextsInput() {
  if (!needs_table_) return texts_input_;
  texts_input_ = NewName("texts");
  program_.Data(texts_input_, DType::kInt64, {}, "the import, for a TextTable",
                0);
  return texts_input_;
}

namespace {

std::vector<OnnxDim> ShapeOf(const ::onnx::TensorShapeProto& shape) {
  std::vector<OnnxDim> dims;
  for (const auto& dim : shape.dim()) {
    OnnxDim& added = dims.emplace_back();
    added.symbol = dim.dim_param();
    added.denotation = dim.denotation();
    // Some exporters write -1 for an unknown size.
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      added.size = dim.dim_value();
    }
  }
  return dims;
}

DDim DimsOf(const OnnxValue& value) {
  if (!value.rank_known) return DDim::UnknownRank();
  std::vector<int64_t> sizes;
  sizes.reserve(value.shape.size());
  for (const OnnxDim& dim : value.shape) {
    sizes.push_back(dim.size);
  }
  return DDim(sizes);
}

OnnxValue InputOf(const ::onnx::ValueInfoProto& input) {
  const std::string what = "input " + Shown(input.name());
  SLUICE_ENFORCE(
      !TypeOfValue(input).has_sequence_type(), ErrorCode::kUnimplemented,
      "onnx.input_sequence",
      "{} of the graph is a sequence; sequence_lengths says how many "
      "tensors it has",
      what);
  SLUICE_ENFORCE(TypeOfValue(input).has_tensor_type(),
                 ErrorCode::kUnimplemented, "onnx.input_type",
                 "{} of the graph is no tensor (a map or sparse value), which "
                 "Sluice lacks",
                 what);
  const auto& type = TypeOfValue(input).tensor_type();
  OnnxValue value;
  value.name = input.name();
  value.of_texts = type.elem_type() == TensorProto::STRING;
  value.dtype =
      value.of_texts ? DType::kInt64 : ToDType(type.elem_type(), what);
  value.rank_known = type.has_shape();
  value.shape = ShapeOf(type.shape());
  SLUICE_ENFORCE(value.shape.size() <= DDim::kMaxRank,
                 ErrorCode::kUnimplemented, "onnx.input_rank",
                 "{} has {} dims; Sluice has tensors of at most {}", what,
                 value.shape.size(), DDim::kMaxRank);
  return value;
}

// Whether a value may be fed for an input.
bool Fits(const Tensor& value, const OnnxValue& input) {
  const DDim dims = DimsOf(input);
  bool fits = value.dtype() == input.dtype && !input.of_texts &&
              (!dims.rank_known() || dims.rank() == value.dims().rank());
  for (int axis = 0; fits && axis < dims.rank(); ++axis) {
    fits = dims[axis] < 0 || dims[axis] == value.dims()[axis];
  }
  return fits;
}

// Makes given values constants, and removes their initialisers. Returns their
// names.
Names AddGiven(const std::vector<std::pair<std::string, Tensor>>& given,
               GraphProto* graph,
               ValueMap* values) {
  Names replaced;
  std::map<std::string, const Tensor*> by_name;
  for (const auto& [name, value] : given) {
    by_name.emplace(name, &value);
  }
  auto& all = *graph->mutable_initializer();
  const auto kept = std::remove_if(
      all.begin(), all.end(), [&](const ::onnx::TensorProto& tensor) {
        const auto found = by_name.find(tensor.name());
        if (found == by_name.end()) return false;
        const std::string what = "initialiser " + Shown(tensor.name());
        const Tensor& value = *found->second;
        const DType dtype = ToDType(tensor.data_type(), what);
        const DDim dims(std::span<const int64_t>(
            tensor.dims().data(), static_cast<size_t>(tensor.dims_size())));
        SLUICE_ENFORCE(value.dtype() == dtype && value.dims() == dims,
                       ErrorCode::kInvalidArgument, "onnx.given_initialiser",
                       "{} is {} {}; the value given for it is {} {}", what,
                       dtype, dims, value.dtype(), value.dims());
        values->AddConstant(tensor.name(), value);
        replaced.push_back(tensor.name());
        return true;
      });
  all.erase(kept, all.end());
  for (const auto& input : graph->input()) {
    const auto found = by_name.find(input.name());
    if (found == by_name.end() ||
        values->FindConstant(input.name()) != nullptr) {
      continue;
    }
    const OnnxValue expected = InputOf(input);
    const Tensor& value = *found->second;
    SLUICE_ENFORCE(
        Fits(value, expected), ErrorCode::kInvalidArgument, "onnx.given_input",
        "input {} is {} {}; the value given for it is {} {}",
        Shown(input.name()),
        expected.of_texts ? "of strings, " : Format("{}", expected.dtype),
        DimsOf(expected), value.dtype(), value.dims());
    values->AddConstant(input.name(), value);
    replaced.push_back(input.name());
  }
  return replaced;
}

// Adds all initialisers except those with these names.
void AddInitialisersBut(const std::set<std::string>& left_out,
                        const ElementSource& source,
                        GraphProto* graph,
                        ValueMap* values) {
  for (auto& tensor : *graph->mutable_initializer()) {
    if (left_out.contains(tensor.name())) continue;
    const std::string what = "initialiser " + Shown(tensor.name());
    if (IsOfTexts(tensor)) values->MarkTexts(tensor.name());
    values->AddConstant(
        tensor.name(),
        values->texts().ToTensor(tensor, &source, what, &values->cost()));
    // Frees the tensor's bytes, so that the weights are in memory only once.
    if (tensor.has_raw_data()) {
      std::unique_ptr<std::string>(tensor.release_raw_data()).reset();
    }
  }
  for (auto& node : *graph->mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      GraphProto* inner = attribute.mutable_g();
      std::set<std::string> given;
      for (const auto& input : inner->input()) {
        given.insert(input.name());
      }
      AddInitialisersBut(given, source, inner, values);
    }
  }
  graph->clear_initializer();
}

}  // namespace

Names AddInitialisers(const ElementSource& source,
                      const OnnxOptions& options,
                      GraphProto* graph,
                      ValueMap* values) {
  std::set<std::string> fed;
  for (const auto& input : graph->input()) {
    if (options.fed_initialisers.contains(input.name())) {
      fed.insert(input.name());
    }
  }
  Names replaced = AddGiven(options.initialisers, graph, values);
  AddInitialisersBut(fed, source, graph, values);
  return replaced;
}

const ::onnx::TypeProto& TypeOfValue(const ::onnx::ValueInfoProto& value) {
  const ::onnx::TypeProto& type = value.type();
  return type.has_optional_type() ? type.optional_type().elem_type() : type;
}

ValueType TypeOfInput(const ::onnx::ValueInfoProto& input,
                      const ValueType& otherwise) {
  if (!input.has_type()) return otherwise;
  const OnnxValue value = InputOf(input);
  return {value.dtype, value.rank_known ? DimsOf(value) : otherwise.dims};
}

std::vector<OnnxValue> AddInputs(const GraphProto& graph,
                                 const std::string& model,
                                 ValueMap* values,
                                 Names* refused) {
  std::vector<OnnxValue> inputs;
  for (const auto& input : graph.input()) {
    if (values->FindConstant(input.name()) != nullptr) continue;
    try {
      inputs.push_back(InputOf(input));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnimplemented) throw;
      refused->emplace_back(error.what());
      values->AddLost(input.name());
      continue;
    }
    const OnnxValue& value = inputs.back();
    if (value.of_texts) values->MarkTexts(value.name);
    const std::string location =
        Format("input {} of {}", Shown(value.name), model);
    values->program().Data(value.name, value.dtype, DimsOf(value),
                           location.c_str(), 0);
  }
  return inputs;
}

namespace {

OnnxValue OutputOf(const std::string& name,
                   const ::onnx::TypeProto& type,
                   ValueMap* values) {
  OnnxValue value;
  values->MakeVariable(name);
  value.name = values->Name(name);
  value.dtype = values->DTypeOf(value.name);
  value.map_keys = values->MapKeys(value.name);
  value.of_texts = values->IsOfTexts(value.name);
  const DDim dims = values->DimsOf(value.name);
  if (type.has_tensor_type() && type.tensor_type().has_shape()) {
    value.rank_known = true;
    value.shape = ShapeOf(type.tensor_type().shape());
  }
  if (!dims.rank_known()) return value;
  value.rank_known = true;
  value.shape.resize(static_cast<size_t>(dims.rank()));
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (dims[axis] < 0) continue;
    value.shape[static_cast<size_t>(axis)] = {dims[axis], ""};
  }
  return value;
}

}  // namespace

std::vector<OnnxValue> FindOutputs(const GraphProto& graph, ValueMap* values) {
  std::vector<OnnxValue> outputs;
  for (const auto& output : graph.output()) {
    const Names* parts = values->FindSequence(output.name());
    if (parts == nullptr) {
      outputs.push_back(OutputOf(output.name(), output.type(), values));
      continue;
    }
    for (size_t i = 0; i < parts->size(); ++i) {
      const std::string name =
          values->NewName(NameOfPart(output.name(), static_cast<int64_t>(i)));
      values->cost().Need("its outputs", kOpBytes);
      values->MakeVariable((*parts)[i]);
      values->program().AppendOp("assign", {{"X", {(*parts)[i]}}}, {},
                                 SourceLocation{}, {{"Out", {name}}});
      outputs.push_back(OutputOf(name, {}, values));
      outputs.back().sequence = output.name();
    }
  }
  return outputs;
}

}  // namespace sluice::onnx
