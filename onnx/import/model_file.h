#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// The newest opset whose operators the importer knows, and the oldest.
inline constexpr int64_t kNewestOpset = 28;
inline constexpr int64_t kOldestOpset = 7;

// Raises ResourceExhausted for 2 GiB and more, which protobuf cannot read.
void CheckFileSize(uint64_t bytes, const std::string& name);

// Parses `bytes` and checks what does not depend on the graph's nodes: that
// they are a whole model with a graph, an IR version from 3 to the newest, an
// opset from kOldestOpset to kNewestOpset, and no deeper nesting than 16
// graphs. `name` is the model's in errors. Raises DataLoss, InvalidArgument,
// Unimplemented or ResourceExhausted.
void ParseModel(std::string_view bytes,
                const std::string& name,
                ::onnx::ModelProto* model);

// Raises InvalidArgument where more than kMostGraphs graphs lie in one another;
// `around` of them are around this one.
void CheckNesting(const ::onnx::GraphProto& graph, int around = 0);

// The opset of ONNX's own operators; the model was checked.
int64_t OpsetOf(const ::onnx::ModelProto& model);

}  // namespace sluice::onnx
