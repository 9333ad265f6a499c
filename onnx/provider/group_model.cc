#include "sluice/onnx/provider/group_model.h"

#include <cstring>
#include <memory>
#include <set>
#include <span>

#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/text.h"

namespace sluice::ort {

namespace {

// The dtype of TensorProto's number, if it has the same layout in memory.
DType DTypeOf(int element_type) {
#define SLUICE_ROW(dtype, number, type, onnx_type, ...) \
  if (element_type == ::onnx::TensorProto::onnx_type && \
      !IsStoredNumber(DType::dtype)) {                  \
    return DType::dtype;                                \
  }
  SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
  Raise(ErrorCode::kUnimplemented, "onnx.provider_dtype",
        "a tensor has element type {} of ONNX, with which no kernel computes",
        element_type);
}

const TensorInfo* TensorInfoOf(const Runtime& runtime, const ValueInfo* value) {
  const TypeInfo* type = runtime.Get(kValueType, value);
  if (type == nullptr) return nullptr;
  SLUICE_ENFORCE(runtime.Get(kOnnxType, type) == kTensorType,
                 ErrorCode::kUnimplemented, "onnx.provider_type",
                 "value {} is not a tensor", Shown(runtime.NameOf(value)));
  return runtime.Get(kToTensorInfo, type);
}

void Describe(const Runtime& runtime,
              const ValueInfo* value,
              ::onnx::ValueInfoProto* proto) {
  proto->set_name(runtime.NameOf(value));
  const TensorInfo* info = TensorInfoOf(runtime, value);
  if (info == nullptr) return;
  auto& type = *proto->mutable_type()->mutable_tensor_type();
  type.set_elem_type(runtime.Get(kElementType, info));
  DTypeOf(type.elem_type());
  if (!runtime[kHasShape](info)) return;
  std::vector<int64_t> dims(runtime.Get(kRank, info));
  std::vector<const char*> names(dims.size());
  runtime.Check(runtime[kDims](info, dims.data(), dims.size()));
  runtime.Check(runtime[kDimNames](info, names.data(), names.size()));
  auto& shape = *type.mutable_shape();
  for (size_t i = 0; i < dims.size(); ++i) {
    auto& dim = *shape.add_dim();
    if (dims[i] >= 0) {
      dim.set_dim_value(dims[i]);
    } else if (names[i] != nullptr && names[i][0] != '\0') {
      dim.set_dim_param(names[i]);
    }
  }
}

// With the elements, or for `initialisers` of the model without.
void Fill(const Tensor& tensor, bool elements, ::onnx::TensorProto* proto) {
  const DType wanted = tensor.dtype();
#define SLUICE_ROW(dtype, number, type, onnx_type, ...)   \
  if (wanted == DType::dtype) {                           \
    proto->set_data_type(::onnx::TensorProto::onnx_type); \
  }
  SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
  for (int64_t size : tensor.dims()) {
    proto->add_dims(size);
  }
  if (elements) proto->set_raw_data(tensor.raw_data(), tensor.bytes());
}

// The nodes of a graph as messages.
class Writer {
 public:
  explicit Writer(const Runtime& runtime) : runtime_(runtime) {}

  const std::set<std::string>& domains() const { return domains_; }

  void Add(const Node* node, ::onnx::NodeProto* proto) {
    proto->set_name(runtime_.Get(kNodeName, node));
    proto->set_op_type(runtime_.Get(kNodeType, node));
    proto->set_domain(runtime_.Get(kNodeDomain, node));
    domains_.insert(proto->domain());
    for (const auto* value :
         runtime_.List(kNodeInputCount, kNodeInputs, node)) {
      proto->add_input(runtime_.NameOf(value));
    }
    for (const auto* value :
         runtime_.List(kNodeOutputCount, kNodeOutputs, node)) {
      proto->add_output(runtime_.NameOf(value));
    }
    for (const auto* attribute :
         runtime_.List(kAttributeCount, kAttributes, node)) {
      const int type = runtime_.Get(kAttributeType, attribute);
      if (type != kGraph) Add(attribute, type, proto->add_attribute());
    }
    std::vector<const Graph*> graphs(runtime_.Get(kSubgraphCount, node));
    std::vector<const char*> names(graphs.size());
    runtime_.Check(
        runtime_[kSubgraphs](node, graphs.data(), graphs.size(), names.data()));
    for (size_t i = 0; i < graphs.size(); ++i) {
      auto& attribute = *proto->add_attribute();
      attribute.set_name(names[i]);
      attribute.set_type(::onnx::AttributeProto::GRAPH);
      Add(graphs[i], attribute.mutable_g());
    }
  }

 private:
  void Add(const Graph* graph, ::onnx::GraphProto* proto) {
    proto->set_name("graph");
    for (const auto* value :
         runtime_.List(kGraphInputCount, kGraphInputs, graph)) {
      Describe(runtime_, value, proto->add_input());
    }
    for (const auto* value :
         runtime_.List(kGraphOutputCount, kGraphOutputs, graph)) {
      Describe(runtime_, value, proto->add_output());
    }
    for (const auto* value :
         runtime_.List(kGraphInitialiserCount, kGraphInitialisers, graph)) {
      auto& tensor = *proto->add_initializer();
      Fill(Borrowed(runtime_, runtime_.Get(kInitialiser, value)), true,
           &tensor);
      tensor.set_name(runtime_.NameOf(value));
    }
    for (const auto* node :
         runtime_.List(kGraphNodeCount, kGraphNodes, graph)) {
      Add(node, proto->add_node());
    }
  }

  std::string Bytes(const Attribute* attribute, int type) const {
    size_t size = 0;
    std::string bytes(1, '\0');
    // Fails if there are some, but says how many.
    Status* status =
        runtime_[kReadAttribute](attribute, type, bytes.data(), 0, &size);
    if (status != nullptr) runtime_[kReleaseStatus](status);
    bytes.resize(size);
    if (size > 0) {
      runtime_.Check(
          runtime_[kReadAttribute](attribute, type, bytes.data(), size, &size));
    }
    return bytes;
  }

  template <typename T>
  std::vector<T> Numbers(const Attribute* attribute, int type) const {
    const std::string bytes = Bytes(attribute, type);
    std::vector<T> numbers(bytes.size() / sizeof(T));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
    return numbers;
  }

  void Add(const Attribute* attribute,
           int type,
           ::onnx::AttributeProto* proto) const {
    proto->set_name(runtime_.Get(kAttributeName, attribute));
    if (type == kInt || type == kInts) {
      proto->set_type(type == kInt ? ::onnx::AttributeProto::INT
                                   : ::onnx::AttributeProto::INTS);
      for (int64_t number : Numbers<int64_t>(attribute, type)) {
        type == kInt ? proto->set_i(number) : proto->add_ints(number);
      }
    } else if (type == kFloat || type == kFloats) {
      proto->set_type(type == kFloat ? ::onnx::AttributeProto::FLOAT
                                     : ::onnx::AttributeProto::FLOATS);
      for (float number : Numbers<float>(attribute, type)) {
        type == kFloat ? proto->set_f(number) : proto->add_floats(number);
      }
    } else if (type == kString) {
      proto->set_type(::onnx::AttributeProto::STRING);
      proto->set_s(Bytes(attribute, type));
    } else if (type == kStrings) {
      proto->set_type(::onnx::AttributeProto::STRINGS);
      const std::string bytes = Bytes(attribute, type);
      for (size_t begin = 0; begin < bytes.size();) {
        const size_t end = bytes.find('\0', begin);
        proto->add_strings(bytes.substr(begin, end - begin));
        begin = end == std::string::npos ? end : end + 1;
      }
    } else if (type == kTensor) {
      proto->set_type(::onnx::AttributeProto::TENSOR);
      const std::unique_ptr<Value, void (*)(Value*)> value(
          runtime_.Get(kAttributeTensor, attribute), runtime_[kReleaseValue]);
      Fill(Borrowed(runtime_, value.get()), true, proto->mutable_t());
    } else {
      Raise(ErrorCode::kUnimplemented, "onnx.provider_attribute",
            "attribute {} has a type that ONNX Runtime does not show",
            Shown(proto->name()));
    }
  }

  const Runtime& runtime_;
  std::set<std::string> domains_ = {""};
};

std::vector<const ValueInfo*> Present(std::vector<const ValueInfo*> values,
                                      const Runtime& runtime) {
  std::erase_if(values, [&](const ValueInfo* value) {
    return runtime.NameOf(value).empty();
  });
  return values;
}

}  // namespace

Tensor Borrowed(const Runtime& runtime, const Value* value) {
  SLUICE_ENFORCE(value != nullptr, ErrorCode::kInvalidArgument,
                 "onnx.provider_no_value", "a tensor has no value");
  int type = 0;
  const int64_t* sizes = nullptr;
  size_t rank = 0;
  runtime.Check(runtime[kElementTypeAndShape](value, &type, &sizes, &rank));
  const DType dtype = DTypeOf(type);
  const DDim dims(std::span<const int64_t>(sizes, rank));
  void* data = nullptr;
  runtime.Check(runtime[kTensorData](const_cast<Value*>(value), &data));
  if (dims.numel() == 0) {
    Tensor empty;
    empty.Resize(dims).mutable_data(dtype, CPUPlace());
    return empty;
  }
  Tensor tensor = Tensor::Borrow(CPUPlace(), dtype, dims, data);
  const bool aligned = reinterpret_cast<uintptr_t>(data) % SizeOf(dtype) == 0;
  return aligned ? tensor : tensor.CopyTo(CPUPlace());
}

std::vector<const ValueInfo*> ReadBy(const Runtime& runtime, const Node* node) {
  auto values = runtime.List(kNodeInputCount, kNodeInputs, node);
  for (const auto* value :
       runtime.List(kImplicitInputCount, kImplicitInputs, node)) {
    values.push_back(value);
  }
  return Present(std::move(values), runtime);
}

std::vector<const ValueInfo*> MadeBy(const Runtime& runtime, const Node* node) {
  return Present(runtime.List(kNodeOutputCount, kNodeOutputs, node), runtime);
}

GroupModel MakeModel(const Runtime& runtime,
                     const Graph* graph,
                     const std::vector<const Node*>& nodes,
                     const std::vector<const ValueInfo*>& outputs) {
  ::onnx::ModelProto model;
  model.set_ir_version(10);
  auto& proto = *model.mutable_graph();
  proto.set_name("group");
  GroupModel result;
  Writer writer(runtime);
  std::set<std::string> known;
  for (const Node* node : nodes) {
    for (const ValueInfo* value : MadeBy(runtime, node)) {
      known.insert(runtime.NameOf(value));
    }
  }
  for (const Node* node : nodes) {
    for (const ValueInfo* value : ReadBy(runtime, node)) {
      const std::string name = runtime.NameOf(value);
      if (!known.insert(name).second) continue;
      if (!runtime.Get(kIsConstant, value)) {
        Describe(runtime, value, proto.add_input());
        continue;
      }
      Tensor tensor = Borrowed(runtime, runtime.Get(kInitialiser, value));
      auto& initialiser = *proto.add_initializer();
      Fill(tensor, false, &initialiser);
      initialiser.set_name(name);
      result.initialisers.emplace_back(name, std::move(tensor));
    }
    writer.Add(node, proto.add_node());
  }
  for (const ValueInfo* value : outputs) {
    Describe(runtime, value, proto.add_output());
  }
  std::vector<const char*> domains(runtime.Get(kOpsetCount, graph));
  std::vector<int64_t> versions(domains.size());
  runtime.Check(
      runtime[kOpsets](graph, domains.data(), versions.data(), domains.size()));
  for (size_t i = 0; i < domains.size(); ++i) {
    if (!writer.domains().contains(domains[i])) continue;
    auto& opset = *model.add_opset_import();
    opset.set_domain(domains[i]);
    opset.set_version(versions[i]);
  }
  SLUICE_ENFORCE(model.SerializeToString(&result.bytes),
                 ErrorCode::kUnimplemented, "onnx.provider_size",
                 "the graph's messages have 2 GiB or more");
  return result;
}

onnx::OnnxModel Import(const Runtime& runtime,
                       const GroupModel& model,
                       const std::vector<const ValueInfo*>& outputs) {
  onnx::OnnxModel result =
      onnx::ParseOnnx(model.bytes, {.name = "the graph of ONNX Runtime",
                                    .initialisers = model.initialisers});
  bool same = result.outputs.size() == outputs.size();
  for (size_t i = 0; same && i < outputs.size(); ++i) {
    const onnx::OnnxValue& output = result.outputs[i];
    const TensorInfo* info = TensorInfoOf(runtime, outputs[i]);
    same = output.name == runtime.NameOf(outputs[i]) && !output.of_texts &&
           output.map_keys.empty() && info != nullptr &&
           DTypeOf(runtime.Get(kElementType, info)) == output.dtype;
  }
  SLUICE_ENFORCE(same, ErrorCode::kUnimplemented, "onnx.provider_outputs",
                 "outputs are of other types than ONNX Runtime expects");
  return result;
}

}  // namespace sluice::ort
