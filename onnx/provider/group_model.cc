#include "sluice/onnx/provider/group_model.h"

#include <cstring>
#include <memory>
#include <set>
#include <span>

#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/text.h"

namespace sluice::ort {

namespace {

// The dtype of TensorProto's number, if elements are the same in both memories.
DType DTypeOf(int element_type) {
  const DType dtype = onnx::ToDType(element_type, "a tensor of ONNX Runtime");
  SLUICE_ENFORCE(!IsStoredNumber(dtype), ErrorCode::kUnimplemented,
                 "onnx.provider_dtype", "no kernel computes with {}", dtype);
  return dtype;
}

// Null for a value without a type.
const TensorInfo* InfoOf(const Runtime& runtime, const ValueInfo* value) {
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
  const TensorInfo* info = InfoOf(runtime, value);
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
    } else if (names[i] != nullptr && *names[i] != '\0') {
      dim.set_dim_param(names[i]);
    }
  }
}

// Sets dtype and dims of the message.
::onnx::TensorProto& Fill(const Tensor& tensor, ::onnx::TensorProto* proto) {
  proto->set_data_type(onnx::OnnxDataType(tensor.dtype()));
  proto->mutable_dims()->Add(tensor.dims().begin(), tensor.dims().end());
  return *proto;
}

// Nodes as messages.
class Writer {
 public:
  explicit Writer(const Runtime& runtime) : runtime_(runtime) {}

  // The domains of the nodes' operators.
  const std::set<std::string>& domains() const { return domains_; }

  void Add(const Node* node, ::onnx::NodeProto* proto) {
    proto->set_name(runtime_.Get(kNodeName, node));
    proto->set_op_type(runtime_.Get(kNodeType, node));
    proto->set_domain(runtime_.Get(kNodeDomain, node));
    domains_.insert(proto->domain());
    for (const ValueInfo* value : runtime_.List(kInputs, node)) {
      proto->add_input(runtime_.NameOf(value));
    }
    for (const ValueInfo* value : runtime_.List(kOutputs, node)) {
      proto->add_output(runtime_.NameOf(value));
    }
    for (const Attribute* attribute : runtime_.List(kAttributes, node)) {
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
    for (const ValueInfo* value : runtime_.List(kGraphInputs, graph)) {
      Describe(runtime_, value, proto->add_input());
    }
    for (const ValueInfo* value : runtime_.List(kGraphOutputs, graph)) {
      Describe(runtime_, value, proto->add_output());
    }
    for (const ValueInfo* value : runtime_.List(kGraphInitialisers, graph)) {
      Add(runtime_.Get(kInitialiser, value), proto->add_initializer())
          .set_name(runtime_.NameOf(value));
    }
    for (const Node* node : runtime_.List(kNodes, graph)) {
      Add(node, proto->add_node());
    }
  }

  ::onnx::TensorProto& Add(const Value* value,
                           ::onnx::TensorProto* proto) const {
    const Tensor tensor = Borrowed(runtime_, value);
    proto->set_raw_data(tensor.raw_data(), tensor.bytes());
    return Fill(tensor, proto);
  }

  std::string Bytes(const Attribute* attribute, int type) const {
    size_t size = 0;
    std::string bytes(1, '\0');
    // Fails unless there are none, but says how many.
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

  void Add(const Attribute* attribute,
           int type,
           ::onnx::AttributeProto* proto) const {
    using Proto = ::onnx::AttributeProto;
    constexpr Proto::AttributeType kTypes[] = {
        Proto::UNDEFINED, Proto::INT,    Proto::INTS,
        Proto::FLOAT,     Proto::FLOATS, Proto::STRING,
        Proto::STRINGS,   Proto::GRAPH,  Proto::TENSOR};
    proto->set_name(runtime_.Get(kAttributeName, attribute));
    SLUICE_ENFORCE(type >= kInt && type <= kTensor, ErrorCode::kUnimplemented,
                   "onnx.provider_attribute",
                   "attribute {} is of a type that ONNX Runtime does not show",
                   Shown(proto->name()));
    proto->set_type(kTypes[type]);
    if (type == kTensor) {
      const std::unique_ptr<Value, void (*)(Value*)> value(
          runtime_.Get(kAttributeTensor, attribute), runtime_[kReleaseValue]);
      Add(value.get(), proto->mutable_t());
      return;
    }
    const std::string bytes = Bytes(attribute, type);
    const auto read = [&](auto* number, const auto& take) {
      for (size_t at = 0; at + sizeof(*number) <= bytes.size();
           at += sizeof(*number)) {
        std::memcpy(number, &bytes[at], sizeof(*number));
        take(*number);
      }
    };
    int64_t integer = 0;
    float real = 0;
    if (type == kInt) {
      read(&integer, [&](int64_t value) { proto->set_i(value); });
    } else if (type == kInts) {
      read(&integer, [&](int64_t value) { proto->add_ints(value); });
    } else if (type == kFloat) {
      read(&real, [&](float value) { proto->set_f(value); });
    } else if (type == kFloats) {
      read(&real, [&](float value) { proto->add_floats(value); });
    } else if (type == kString) {
      proto->set_s(bytes);
    } else {  // strings, each with a zero after it
      for (size_t at = 0; at < bytes.size();
           at += proto->strings().rbegin()->size() + 1) {
        proto->add_strings(bytes.c_str() + at);
      }
    }
  }

  const Runtime& runtime_;
  std::set<std::string> domains_ = {""};
};

}  // namespace

Tensor Borrowed(const Runtime& runtime, const Value* value) {
  SLUICE_ENFORCE(value != nullptr, ErrorCode::kInvalidArgument,
                 "onnx.provider_no_value", "a tensor has no value");
  int type = 0;
  const int64_t* sizes = nullptr;
  size_t rank = 0;
  void* data = nullptr;
  runtime.Check(runtime[kElementTypeAndShape](value, &type, &sizes, &rank));
  runtime.Check(runtime[kTensorData](const_cast<Value*>(value), &data));
  const DType dtype = DTypeOf(type);
  const DDim dims(std::span<const int64_t>(sizes, rank));
  if (dims.numel() == 0) {  // may have no memory
    Tensor empty;
    empty.Resize(dims).mutable_data(dtype, CPUPlace());
    return empty;
  }
  const Tensor tensor = Tensor::Borrow(CPUPlace(), dtype, dims, data);
  const bool aligned = reinterpret_cast<uintptr_t>(data) % SizeOf(dtype) == 0;
  return aligned ? tensor : tensor.CopyTo(CPUPlace());
}

GroupModel MakeModel(const Runtime& runtime,
                     const Graph* graph,
                     const Group& nodes,
                     const std::vector<const ValueInfo*>& outputs) {
  ::onnx::ModelProto model;
  model.set_ir_version(10);
  auto& proto = *model.mutable_graph();
  GroupModel result;
  Writer writer(runtime);
  std::set<std::string> known = {""};
  for (const Node* node : nodes) {
    for (const ValueInfo* value : runtime.List(kOutputs, node)) {
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
      Fill(tensor, proto.add_initializer()).set_name(name);
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
    const TensorInfo* info = InfoOf(runtime, outputs[i]);
    same = output.name == runtime.NameOf(outputs[i]) && !output.of_texts &&
           output.map_keys.empty() && info != nullptr &&
           DTypeOf(runtime.Get(kElementType, info)) == output.dtype;
  }
  SLUICE_ENFORCE(same, ErrorCode::kUnimplemented, "onnx.provider_outputs",
                 "outputs are of other types than ONNX Runtime expects");
  return result;
}

}  // namespace sluice::ort
