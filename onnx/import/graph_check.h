#pragma once

#include <string>

#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// "node Conv_3 (Conv)", or "node 12 (Conv)" for one without a name.
std::string NodeName(const NodeProto& node, int index);

// Checks the names of the graph's values: every value is assigned once, before
// its use, and the outputs are assigned. Raises InvalidArgument.
void CheckNames(const GraphProto& graph);

}  // namespace sluice::onnx
