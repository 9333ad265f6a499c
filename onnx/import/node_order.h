#pragma once

#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Orders the nodes of the model's graphs and functions so that each value is
// made before it is read; nodes that are in order stay where they are. Raises
// InvalidArgument for a cycle, naming its nodes.
void SortNodes(::onnx::ModelProto* model);

}  // namespace sluice::onnx
