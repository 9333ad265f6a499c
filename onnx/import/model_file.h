#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// The newest and the oldest opset that the importer supports.
inline constexpr int64_t kNewestOpset = 28;
inline constexpr int64_t kOldestOpset = 1;

// Raises ResourceExhausted for 2 GiB and more, which protobuf cannot read.
void CheckFileSize(uint64_t bytes, const std::string& name);

// Parses `bytes` and checks what does not depend on the graph's nodes: a
// complete model with a graph, an IR version from 3 to the newest, an opset
// from kOldestOpset to kNewestOpset, and at most 16 nested graphs. `name` is
// the model's in errors. Raises DataLoss, InvalidArgument, Unimplemented or
// ResourceExhausted.
void ParseModel(std::string_view bytes,
                const std::string& name,
                ::onnx::ModelProto* model);

// Raises InvalidArgument for more than kMostGraphs nested graphs, including
// `around` graphs that enclose this one.
void CheckNesting(const GraphProto& graph, int around = 0);

// The opset of ONNX's own operators in a checked model. If the model imports
// several, it is the last one, as in onnxruntime.
int64_t OpsetOf(const ::onnx::ModelProto& model);

}  // namespace sluice::onnx
