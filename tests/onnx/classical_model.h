#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/onnx/model_builder.h"

// Models of one node of the domain ai.onnx.ml.
namespace sluice::testing {

using Change = std::function<void(::onnx::NodeProto& node)>;

// Changes of one attribute, which replace it.
Change Of(const std::string& name, const std::vector<int64_t>& values);
Change OfFloats(const std::string& name, const std::vector<float>& values);
Change OfInt(const std::string& name, int64_t value);
Change OfText(const std::string& name, const std::string& value);
Change OfTexts(const std::string& name, const std::vector<std::string>& values);
Change OfTensor(const std::string& name, const std::vector<float>& values);
// A tensor of uint8.
Change OfBytes(const std::string& name, const std::vector<uint8_t>& values);

// A model of the node node_5 with the input x [batch, 2] and the output y; with
// `scores` its second output is that of the model.
ModelBuilder Classical(const std::string& type,
                       const std::vector<Change>& changes,
                       bool scores = false);

// Expects an error with this word at loading the model with both changes.
void ExpectRefused(std::string_view id,
                   const std::string& type,
                   std::vector<Change> changes,
                   const std::vector<Change>& more,
                   std::string_view word = "node_5",
                   ErrorCode code = ErrorCode::kInvalidArgument);

}  // namespace sluice::testing
