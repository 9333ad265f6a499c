#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/onnx/model_builder.h"

// Models of one node of the domain ai.onnx.ml.
namespace sluice::testing {

using NodeChange = std::function<void(::onnx::NodeProto& node)>;

// Changes of one attribute, which replace it.
NodeChange Of(const std::string& name, const std::vector<int64_t>& values);
NodeChange OfFloats(const std::string& name, const std::vector<float>& values);
NodeChange OfInt(const std::string& name, int64_t value);
NodeChange OfText(const std::string& name, const std::string& value);
NodeChange OfTexts(const std::string& name,
                   const std::vector<std::string>& values);
NodeChange OfTensor(const std::string& name, const std::vector<float>& values);
// A tensor of uint8.
NodeChange OfBytes(const std::string& name, const std::vector<uint8_t>& values);

// A model of the node node_5 with the input x [batch, 2] and the output y; with
// `scores` its second output is that of the model.
ModelBuilder Classical(const std::string& type,
                       const std::vector<NodeChange>& changes,
                       bool scores = false);

// Expects an error with this word at loading the model with both changes.
void ExpectClassicalRefused(std::string_view id,
                            const std::string& type,
                            std::vector<NodeChange> changes,
                            const std::vector<NodeChange>& more,
                            std::string_view word = "node_5",
                            ErrorCode code = ErrorCode::kInvalidArgument);

}  // namespace sluice::testing
