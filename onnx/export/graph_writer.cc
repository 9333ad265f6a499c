#include "sluice/onnx/export/graph_writer.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "sluice/onnx/export/op_export.h"
#include "sluice/onnx/export/value_types.h"
#include "sluice/onnx/import/packed_values.h"
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

}  // namespace sluice::onnx
