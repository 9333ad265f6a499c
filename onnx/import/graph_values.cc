#include "sluice/onnx/import/graph_values.h"

#include <memory>
#include <set>

#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

std::vector<OnnxDim> ShapeOf(const ::onnx::TensorShapeProto& shape) {
  std::vector<OnnxDim> dims;
  for (const auto& dim : shape.dim()) {
    OnnxDim& added = dims.emplace_back();
    added.symbol = dim.dim_param();
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
  SLUICE_ENFORCE(input.type().has_tensor_type(), ErrorCode::kUnimplemented,
                 "onnx.input_type",
                 "{} of the graph is no tensor (a sequence, a map, an optional "
                 "or sparse value), which Sluice lacks",
                 what);
  const auto& type = input.type().tensor_type();
  OnnxValue value;
  value.name = input.name();
  value.dtype = ToDType(type.elem_type(), what);
  value.rank_known = type.has_shape();
  value.shape = ShapeOf(type.shape());
  SLUICE_ENFORCE(value.shape.size() <= DDim::kMaxRank,
                 ErrorCode::kUnimplemented, "onnx.input_rank",
                 "{} has {} dims; Sluice has tensors of at most {}", what,
                 value.shape.size(), DDim::kMaxRank);
  return value;
}

}  // namespace

namespace {

// Adds all initialisers except those with these names.
void AddInitialisersBut(const std::set<std::string>& left_out,
                        const std::string& folder,
                        GraphProto* graph,
                        ValueMap* values) {
  for (auto& tensor : *graph->mutable_initializer()) {
    if (left_out.contains(tensor.name())) continue;
    values->AddConstant(
        tensor.name(),
        ToTensor(tensor, folder, "initialiser " + Shown(tensor.name()),
                 &values->cost()));
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
      AddInitialisersBut(given, folder, inner, values);
    }
  }
}

}  // namespace

void AddInitialisers(const std::string& folder,
                     GraphProto* graph,
                     ValueMap* values) {
  AddInitialisersBut({}, folder, graph, values);
}

ValueType TypeOfInput(const ::onnx::ValueInfoProto& input,
                      const ValueType& otherwise) {
  if (!input.has_type()) return otherwise;
  const OnnxValue value = InputOf(input);
  return {value.dtype, value.rank_known ? DimsOf(value) : otherwise.dims};
}

std::vector<OnnxValue> AddInputs(const GraphProto& graph,
                                 const std::string& model,
                                 ValueMap* values) {
  std::vector<OnnxValue> inputs;
  for (const auto& input : graph.input()) {
    if (values->FindConstant(input.name()) != nullptr) continue;
    OnnxValue& value = inputs.emplace_back(InputOf(input));
    const std::string location =
        Format("input {} of {}", Shown(value.name), model);
    values->program().Data(value.name, value.dtype, DimsOf(value),
                           location.c_str(), 0);
  }
  return inputs;
}

std::vector<OnnxValue> FindOutputs(const GraphProto& graph, ValueMap* values) {
  std::vector<OnnxValue> outputs;
  for (const auto& output : graph.output()) {
    OnnxValue& value = outputs.emplace_back();
    values->MakeVariable(output.name());
    value.name = values->Name(output.name());
    value.dtype = values->DTypeOf(value.name);
    const DDim dims = values->DimsOf(value.name);
    if (output.type().has_tensor_type() &&
        output.type().tensor_type().has_shape()) {
      value.rank_known = true;
      value.shape = ShapeOf(output.type().tensor_type().shape());
    }
    if (!dims.rank_known()) continue;
    value.rank_known = true;
    value.shape.resize(static_cast<size_t>(dims.rank()));
    for (int axis = 0; axis < dims.rank(); ++axis) {
      if (dims[axis] < 0) continue;
      value.shape[static_cast<size_t>(axis)] = {dims[axis], ""};
    }
  }
  return outputs;
}

}  // namespace sluice::onnx
