#include "sluice/onnx/export/graph_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "sluice/framework/op/near_names.h"
#include "sluice/framework/values/scope_lock.h"
#include "sluice/onnx/export/op_export.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

float ToFloat(const std::string& name, double value) {
  if (std::isfinite(value) &&
      std::abs(value) > std::numeric_limits<float>::max()) {
    OpExport::Unsupported("its attribute {} is {}; ONNX has float32", name,
                          value);
  }
  return static_cast<float>(value);
}

void SetAttribute(const std::string& name,
                  const Attribute& value,
                  AttributeProto* to) {
  to->set_name(name);
  const auto set = [&](const auto& given) {
    using T = std::decay_t<decltype(given)>;
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t>) {
      to->set_type(AttributeProto::INT);
      to->set_i(given);
    } else if constexpr (std::is_same_v<T, double>) {
      to->set_type(AttributeProto::FLOAT);
      to->set_f(ToFloat(name, given));
    } else if constexpr (std::is_same_v<T, std::string>) {
      to->set_type(AttributeProto::STRING);
      to->set_s(given);
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      to->set_type(AttributeProto::INTS);
      to->mutable_ints()->Assign(given.begin(), given.end());
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      to->set_type(AttributeProto::FLOATS);
      for (const double number : given) {
        to->add_floats(ToFloat(name, number));
      }
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      to->set_type(AttributeProto::STRINGS);
      to->mutable_strings()->Assign(given.begin(), given.end());
    } else {
      to->set_type(AttributeProto::INT);
      to->set_i(OnnxDataType(given));
    }
  };
  std::visit(set, static_cast<const Attribute::Variant&>(value));
}

}  // namespace

int OnnxDataType(DType dtype) {
  switch (dtype) {
#define SLUICE_ROW(dtype, number, type, onnx_type, ...) \
  case DType::dtype:                                    \
    return TensorProto::onnx_type;
    SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
  }
  return TensorProto::UNDEFINED;
}

GraphWriter::GraphWriter(const Program& program,
                         const Names& outputs,
                         int64_t opset,
                         WriteOps write_ops,
                         GraphProto* graph)
    : program_(program),
      block_(program.block()),
      opset_(opset),
      write_ops_(std::move(write_ops)),
      graph_(graph) {
  for (const VarDesc& var : block_.vars()) {
    taken_.insert(var.name);
  }
  CountVariables(outputs);
}

GraphWriter::GraphWriter(GraphWriter* around,
                         int block,
                         const Names& outputs,
                         GraphProto* graph)
    : program_(around->program_),
      block_(program_.blocks()[static_cast<size_t>(block)]),
      opset_(around->opset_),
      write_ops_(around->write_ops_),
      around_(around),
      graph_(graph) {
  graph_->set_name(Format("block_{}", block));
  for (const VarDesc& var : block_.vars()) {
    names_[var.name] = NewName(var.name);
    if (var.is_data) ++writes_left_[var.name];  // by the enclosing node
  }
  CountVariables(outputs);
}

void GraphWriter::CountVariables(const Names& outputs) {
  read_.insert(outputs.begin(), outputs.end());
  for (const OpDesc& op : block_.ops) {
    for (const auto& [argument, vars] : op.inputs) {
      read_.insert(vars.begin(), vars.end());
    }
    for (const auto& [argument, vars] : op.outputs) {
      for (const std::string& var : vars) {
        ++writes_left_[var];
      }
    }
  }
}

const VarDesc& GraphWriter::Var(const std::string& name) const {
  const VarDesc* own = block_.FindVar(name);
  if (own != nullptr) return *own;
  return around_ == nullptr ? program_.FindVar(name) : around_->Var(name);
}

bool GraphWriter::IsRead(const std::string& variable) const {
  return read_.contains(variable);
}

void GraphWriter::BeginOp(const OpDesc& op) {
  op_name_ = op.type;
  for (const auto& [argument, vars] : op.outputs) {
    if (vars.empty()) continue;
    op_name_ = LastName(vars[0]);
    break;
  }
  op_location_ = DescribeLocation(op.location);
  op_nodes_ = 0;
  op_properties_.clear();
}

void GraphWriter::BeginNodes(const std::string& name) {
  op_name_ = name;
  op_location_.clear();
  op_nodes_ = 0;
  op_properties_.clear();
}

void GraphWriter::DescribeOp(const std::string& key, const std::string& value) {
  op_properties_.emplace_back(key, value);
}

const std::string& GraphWriter::ValueOf(const std::string& variable) const {
  const auto found = values_.find(variable);
  if (found != values_.end()) return found->second;
  if (around_ != nullptr && block_.FindVar(variable) == nullptr) {
    return around_->ValueOf(variable);
  }
  return LastName(variable);
}

const std::string& GraphWriter::LastName(const std::string& variable) const {
  const auto found = names_.find(variable);
  return found == names_.end() ? variable : found->second;
}

std::string GraphWriter::Define(const std::string& variable) {
  const bool last = --writes_left_[variable] == 0;
  const std::string& name = LastName(variable);
  return values_[variable] = last ? name : NewName(name);
}

std::string GraphWriter::NewName(const std::string& base) {
  if (around_ != nullptr) return around_->NewName(base);
  std::string name = base;
  int64_t& numbers = numbers_[base];
  while (!taken_.insert(name).second) {
    name = Format("{}.{}", base, ++numbers);
  }
  return name;
}

void GraphWriter::AddNode(const std::string& type,
                          const Names& inputs,
                          const Names& outputs,
                          const AttributeMap& attributes,
                          const Subgraphs& subgraphs) {
  auto* node = graph_->add_node();
  node->set_op_type(type);
  node->set_name(op_nodes_ == 0 ? op_name_
                                : Format("{}/{}", op_name_, op_nodes_));
  ++op_nodes_;
  node->set_doc_string(op_location_);
  // Trailing omitted inputs need no empty names.
  size_t given = inputs.size();
  while (given > 0 && inputs[given - 1].empty()) {
    --given;
  }
  node->mutable_input()->Assign(inputs.begin(),
                                inputs.begin() + static_cast<int64_t>(given));
  node->mutable_output()->Assign(outputs.begin(), outputs.end());
  for (const auto& [name, value] : attributes) {
    SetAttribute(name, value, node->add_attribute());
  }
  for (const auto& [name, graph] : subgraphs) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(AttributeProto::GRAPH);
    attribute->mutable_g()->Swap(graph);
  }
  for (const auto& [key, value] : op_properties_) {
    auto* property = node->add_metadata_props();
    property->set_key(key);
    property->set_value(value);
  }
}

void GraphWriter::AddInput(const VarDesc& var, const std::string& name) {
  shown_.insert(name);
  SetType(var, name, graph_->add_input());
}

void GraphWriter::AddOutput(const VarDesc& var, const std::string& name) {
  shown_.insert(name);
  SetType(var, name, graph_->add_output());
}

void GraphWriter::AddValueInfo() {
  for (const VarDesc& var : block_.vars()) {
    const std::string& name = LastName(var.name);
    if (var.is_data || var.persistable || shown_.contains(name)) continue;
    if (!IsRead(var.name) || !var.dims.rank_known()) continue;
    SetType(var, name, graph_->add_value_info());
  }
}

std::string GraphWriter::AddConstant(const Tensor& value) {
  constexpr size_t kSmall = 256;
  const std::string bytes = PackedBytes(value);
  std::string content;
  if (bytes.size() <= kSmall) {
    content = Format("{} {} ", value.dtype(), value.dims()) + bytes;
    const auto known = constants_.find(content);
    if (known != constants_.end()) return known->second;
  }
  std::string name = NewName("constant");
  auto* tensor = graph_->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(OnnxDataType(value.dtype()));
  for (const int64_t dim : value.dims()) {
    tensor->add_dims(dim);
  }
  tensor->set_raw_data(bytes);
  if (!content.empty()) constants_[content] = name;
  return name;
}

namespace {

::onnx::TensorShapeProto* ShapeOf(::onnx::ValueInfoProto& value) {
  return value.mutable_type()->mutable_tensor_type()->mutable_shape();
}

bool HasShape(const ::onnx::ValueInfoProto& value) {
  return value.type().tensor_type().has_shape();
}

bool IsOpen(const ::onnx::ValueInfoProto& value, int dim) {
  const auto& shape = value.type().tensor_type().shape();
  return dim < shape.dim_size() && !shape.dim(dim).has_dim_value();
}

}  // namespace

void SetType(const VarDesc& var,
             const std::string& name,
             ::onnx::ValueInfoProto* to) {
  to->set_name(name);
  auto* type = to->mutable_type()->mutable_tensor_type();
  type->set_elem_type(OnnxDataType(var.dtype));
  if (!var.dims.rank_known()) return;
  auto* shape = type->mutable_shape();
  for (const int64_t size : var.dims) {
    auto* dim = shape->add_dim();
    if (size >= 0) dim->set_dim_value(size);
  }
}

void NameSizes(const std::map<std::string, std::vector<std::string>>& given,
               GraphProto* graph) {
  auto& inputs = *graph->mutable_input();
  for (const auto& entry : given) {
    const auto input =
        std::find_if(inputs.begin(), inputs.end(), [&](const auto& value) {
          return value.name() == entry.first && HasShape(value);
        });
    const int dims = input == inputs.end()
                         ? -1
                         : input->type().tensor_type().shape().dim_size();
    if (dims < 0) {
      Names known;
      for (const auto& value : inputs) {
        if (HasShape(value)) known.push_back(value.name());
      }
      Raise(ErrorCode::kInvalidArgument, "onnx.save_size_names",
            "names are given for the sizes of {}, which is no input "
            "of the model{}",
            Shown(entry.first), SuggestNames(entry.first, known));
    }
    SLUICE_ENFORCE(static_cast<int>(entry.second.size()) == dims,
                   ErrorCode::kInvalidArgument, "onnx.save_size_count",
                   "{} has {} dims, and {} names are given for their sizes; "
                   "expected one for each",
                   Shown(entry.first), dims, entry.second.size());
  }
  const auto open =
      std::count_if(inputs.begin(), inputs.end(),
                    [](const auto& value) { return IsOpen(value, 0); });
  for (auto& input : inputs) {
    if (!HasShape(input)) continue;
    const auto names = given.find(input.name());
    for (int i = 0; i < ShapeOf(input)->dim_size(); ++i) {
      if (!IsOpen(input, i)) continue;
      std::string name =
          i == 0 && open == 1 ? "batch" : Format("{}_{}", input.name(), i);
      const auto at = static_cast<size_t>(i);
      if (names != given.end() && at < names->second.size() &&
          !names->second[at].empty()) {
        name = names->second[at];
      }
      ShapeOf(input)->mutable_dim(i)->set_dim_param(name);
    }
  }
}

namespace {

// Smaller tensors stay in the model.
constexpr size_t kLarge = 1024;
// Each tensor begins on a page, for readers that map the file.
constexpr size_t kPage = 4096;
constexpr std::array<char, kPage> kZeros = {};

void SetExternal(const std::string& file,
                 size_t offset,
                 size_t bytes,
                 TensorProto* to) {
  to->set_data_location(TensorProto::EXTERNAL);
  const auto add = [to](const char* key, const std::string& value) {
    auto* entry = to->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", file);
  add("offset", Format("{}", offset));
  add("length", Format("{}", bytes));
}

}  // namespace

Parameters ParametersOf(const Program& program, const Scope& scope) {
  Parameters parameters;
  std::string missing;
  {
    const ScopeLock lock(&scope, ScopeAccess::kRead);
    for (const VarDesc& var : program.block().vars()) {
      if (!var.persistable) continue;
      const Variable* variable = scope.FindVar(var.name);
      const Tensor* value =
          variable == nullptr ? nullptr : variable->Get<Tensor>();
      if (value == nullptr || !value->allocated()) {
        missing += (missing.empty() ? "" : ", ") + var.name;
        continue;
      }
      SLUICE_ENFORCE(
          value->dtype() == var.dtype && value->dims() == var.dims,
          ErrorCode::kInvalidArgument, "onnx.save_parameter",
          "variable {} is {} {} in the program, but {} {} in the scope",
          var.name, var.dtype, var.dims, value->dtype(), value->dims());
      parameters.emplace_back(var.name, *value);
    }
  }
  SLUICE_ENFORCE(missing.empty(), ErrorCode::kFailedPrecondition,
                 "onnx.save_no_value",
                 "the scope has no value to save for {}: run the start-up "
                 "program first, or give the scope that has them",
                 missing);
  for (auto& [name, value] : parameters) {
    if (value.place() != PlaceKey(CPUPlace())) {
      value = value.CopyTo(CPUPlace());
    }
  }
  return parameters;
}

uint64_t BytesOf(const Parameters& parameters) {
  uint64_t bytes = 0;
  for (const auto& [name, value] : parameters) {
    bytes += value.bytes();
  }
  return bytes;
}

std::vector<std::string_view> AddParameters(const Parameters& parameters,
                                            const std::string& file,
                                            GraphProto* graph) {
  std::vector<std::string_view> content;
  size_t size = 0;
  for (const auto& [name, value] : parameters) {
    auto* tensor = graph->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(OnnxDataType(value.dtype()));
    tensor->mutable_dims()->Assign(value.dims().begin(), value.dims().end());
    if (IsPacked(value.dtype())) {
      tensor->set_raw_data(PackedBytes(value));
      continue;
    }
    const std::string_view bytes(static_cast<const char*>(value.raw_data()),
                                 value.bytes());
    if (file.empty() || bytes.size() < kLarge) {
      tensor->set_raw_data(bytes.data(), bytes.size());
      continue;
    }
    const size_t padding = (kPage - size % kPage) % kPage;
    content.emplace_back(kZeros.data(), padding);
    content.push_back(bytes);
    SetExternal(file, size + padding, bytes.size(), tensor);
    size += padding + bytes.size();
  }
  return content;
}

}  // namespace sluice::onnx
