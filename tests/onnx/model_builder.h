#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "sluice/onnx/load_onnx.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::testing {

// Small models, built from the messages themselves; every part of `model` may
// be changed before loading.
class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 13);

  ::onnx::GraphProto& graph() { return *model.mutable_graph(); }

  // A float32 value; -1 is an unknown size named "batch".
  void Input(const std::string& name, std::initializer_list<int64_t> dims);
  void Output(const std::string& name);
  ::onnx::TensorProto& Floats(const std::string& name,
                              std::initializer_list<int64_t> dims,
                              const std::vector<float>& values);
  ::onnx::TensorProto& Ints(const std::string& name,
                            const std::vector<int64_t>& values);
  ::onnx::NodeProto& Node(const std::string& type,
                          std::initializer_list<std::string> inputs,
                          std::initializer_list<std::string> outputs,
                          const std::string& name = "");

  std::string Bytes() const { return model.SerializeAsString(); }
  onnx::OnnxModel Load(const onnx::OnnxOptions& options = {}) const {
    return onnx::ParseOnnx(Bytes(), options);
  }
  // Loads the model and runs it on values for its inputs, in order. An unknown
  // size is computed from the number of values.
  std::vector<std::vector<float>> Run(
      const std::vector<std::vector<float>>& feeds) const;

  ::onnx::ModelProto model;
};

void SetInt(::onnx::NodeProto& node, const std::string& name, int64_t value);
void SetInts(::onnx::NodeProto& node,
             const std::string& name,
             const std::vector<int64_t>& values);
void SetFloat(::onnx::NodeProto& node, const std::string& name, float value);
void SetFloats(::onnx::NodeProto& node,
               const std::string& name,
               std::initializer_list<float> values);
void SetString(::onnx::NodeProto& node,
               const std::string& name,
               const std::string& value);

// y = relu(x) with x [batch, 2].
ModelBuilder Small();

}  // namespace sluice::testing
