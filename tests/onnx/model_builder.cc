#include "tests/onnx/model_builder.h"

#include "sluice/framework/run/executor.h"

namespace sluice::testing {

ModelBuilder::ModelBuilder(int64_t opset) {
  model.set_ir_version(7);
  model.add_opset_import()->set_version(opset);
  graph().set_name("small");
}

void ModelBuilder::Input(const std::string& name,
                         std::initializer_list<int64_t> dims) {
  auto* input = graph().add_input();
  input->set_name(name);
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) {
    auto* added = type->mutable_shape()->add_dim();
    if (dim < 0) {
      added->set_dim_param("batch");
    } else {
      added->set_dim_value(dim);
    }
  }
}

void ModelBuilder::Output(const std::string& name) {
  graph().add_output()->set_name(name);
}

::onnx::TensorProto& ModelBuilder::Floats(const std::string& name,
                                          std::initializer_list<int64_t> dims,
                                          const std::vector<float>& values) {
  auto* tensor = graph().add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(::onnx::TensorProto::FLOAT);
  tensor->mutable_dims()->Add(dims.begin(), dims.end());
  tensor->set_raw_data(values.data(), values.size() * sizeof(float));
  return *tensor;
}

::onnx::TensorProto& ModelBuilder::Ints(const std::string& name,
                                        const std::vector<int64_t>& values) {
  auto* tensor = graph().add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(::onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  tensor->mutable_int64_data()->Add(values.begin(), values.end());
  return *tensor;
}

::onnx::NodeProto& ModelBuilder::Node(
    const std::string& type,
    std::initializer_list<std::string> inputs,
    std::initializer_list<std::string> outputs,
    const std::string& name) {
  auto* node = graph().add_node();
  node->set_op_type(type);
  node->set_name(name);
  for (const std::string& input : inputs) {
    node->add_input(input);
  }
  for (const std::string& output : outputs) {
    node->add_output(output);
  }
  return *node;
}

std::vector<std::vector<float>> ModelBuilder::Run(
    const std::vector<std::vector<float>>& feeds) const {
  const onnx::OnnxModel loaded = Load();
  Executor executor;
  loaded.PutParameters(executor.scope());
  Feeds fed;
  for (size_t i = 0; i < feeds.size(); ++i) {
    std::vector<int64_t> sizes;
    int64_t known = 1;
    for (const onnx::OnnxDim& dim : loaded.inputs[i].shape) {
      sizes.push_back(dim.size);
      if (dim.size > 0) known *= dim.size;
    }
    for (int64_t& size : sizes) {
      if (size < 0) size = static_cast<int64_t>(feeds[i].size()) / known;
    }
    fed.emplace_back(loaded.inputs[i].name,
                     Tensor::FromVector<float>(DDim(sizes), feeds[i]));
  }
  Fetches fetches;
  for (const onnx::OnnxValue& output : loaded.outputs) {
    fetches.push_back(output.name);
  }
  std::vector<std::vector<float>> results;
  for (const Tensor& tensor : executor.Run(loaded.program, fed, fetches)) {
    results.push_back(tensor.ToVector<float>());
  }
  return results;
}

namespace {
::onnx::AttributeProto& Add(::onnx::NodeProto& node,
                            const std::string& name,
                            ::onnx::AttributeProto::AttributeType type) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return *attribute;
}
}  // namespace

void SetInt(::onnx::NodeProto& node, const std::string& name, int64_t value) {
  Add(node, name, ::onnx::AttributeProto::INT).set_i(value);
}

void SetInts(::onnx::NodeProto& node,
             const std::string& name,
             const std::vector<int64_t>& values) {
  Add(node, name, ::onnx::AttributeProto::INTS)
      .mutable_ints()
      ->Add(values.begin(), values.end());
}

void SetFloat(::onnx::NodeProto& node, const std::string& name, float value) {
  Add(node, name, ::onnx::AttributeProto::FLOAT).set_f(value);
}

void SetFloats(::onnx::NodeProto& node,
               const std::string& name,
               std::initializer_list<float> values) {
  Add(node, name, ::onnx::AttributeProto::FLOATS)
      .mutable_floats()
      ->Add(values.begin(), values.end());
}

void SetString(::onnx::NodeProto& node,
               const std::string& name,
               const std::string& value) {
  Add(node, name, ::onnx::AttributeProto::STRING).set_s(value);
}

ModelBuilder Small() {
  ModelBuilder builder;
  builder.Input("x", {-1, 2});
  builder.Node("Relu", {"x"}, {"y"}, "first");
  builder.Output("y");
  return builder;
}

}  // namespace sluice::testing
