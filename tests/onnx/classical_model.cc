#include "tests/onnx/classical_model.h"

#include "tests/testing/expect_error.h"

namespace sluice::testing {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace {

void Remove(NodeProto& node, const std::string& name) {
  auto* attributes = node.mutable_attribute();
  for (int i = 0; i < attributes->size(); ++i) {
    if (attributes->at(i).name() != name) continue;
    attributes->DeleteSubrange(i, 1);
    return;
  }
}

// Replaces an attribute by a tensor of these sizes.
TensorProto& AddTensor(NodeProto& node, const std::string& name, size_t size) {
  Remove(node, name);
  auto* added = node.add_attribute();
  added->set_name(name);
  added->set_type(AttributeProto::TENSOR);
  added->mutable_t()->add_dims(static_cast<int64_t>(size));
  return *added->mutable_t();
}

}  // namespace

NodeChange Of(const std::string& name, const std::vector<int64_t>& values) {
  return [=](NodeProto& node) {
    Remove(node, name);
    SetInts(node, name, values);
  };
}

NodeChange OfFloats(const std::string& name, const std::vector<float>& values) {
  return [=](NodeProto& node) {
    Remove(node, name);
    SetFloats(node, name, {});
    auto* added = node.mutable_attribute(node.attribute_size() - 1);
    added->mutable_floats()->Add(values.begin(), values.end());
  };
}

NodeChange OfInt(const std::string& name, int64_t value) {
  return [=](NodeProto& node) {
    Remove(node, name);
    SetInt(node, name, value);
  };
}

NodeChange OfText(const std::string& name, const std::string& value) {
  return [=](NodeProto& node) {
    Remove(node, name);
    SetString(node, name, value);
  };
}

NodeChange OfTexts(const std::string& name,
                   const std::vector<std::string>& values) {
  return [=](NodeProto& node) {
    Remove(node, name);
    auto* added = node.add_attribute();
    added->set_name(name);
    added->set_type(AttributeProto::STRINGS);
    added->mutable_strings()->Assign(values.begin(), values.end());
  };
}

NodeChange OfTensor(const std::string& name, const std::vector<float>& values) {
  return [=](NodeProto& node) {
    TensorProto& tensor = AddTensor(node, name, values.size());
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.mutable_float_data()->Add(values.begin(), values.end());
  };
}

NodeChange OfBytes(const std::string& name,
                   const std::vector<uint8_t>& values) {
  return [=](NodeProto& node) {
    TensorProto& tensor = AddTensor(node, name, values.size());
    tensor.set_data_type(TensorProto::UINT8);
    tensor.set_raw_data(values.data(), values.size());
  };
}

ModelBuilder Classical(const std::string& type,
                       const std::vector<NodeChange>& changes,
                       bool scores) {
  ModelBuilder builder;
  auto* opset = builder.model.add_opset_import();
  opset->set_domain("ai.onnx.ml");
  opset->set_version(3);
  builder.Input("x", {-1, 2});
  NodeProto& node = builder.Node(type, {"x"}, {"y"}, "node_5");
  if (scores) node.add_output("z");
  node.set_domain("ai.onnx.ml");
  for (const NodeChange& change : changes) {
    change(node);
  }
  builder.Output(scores ? "z" : "y");
  return builder;
}

void ExpectClassicalRefused(std::string_view id,
                            const std::string& type,
                            std::vector<NodeChange> changes,
                            const std::vector<NodeChange>& more,
                            std::string_view word,
                            ErrorCode code) {
  changes.insert(changes.end(), more.begin(), more.end());
  const ModelBuilder builder = Classical(type, changes);
  ExpectError(code, id, {"node_5", word}, [&] { builder.Load(); });
}

}  // namespace sluice::testing
