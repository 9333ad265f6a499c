#pragma once

#include <string>

#include "sluice/onnx/import/messages.h"
#include "sluice/onnx/import/value_map.h"

namespace sluice::onnx {

// Adds the ops of all nodes, in order. `name` is the model's in errors. Raises
// Unimplemented once, for all nodes that cannot be imported, and what a node
// raises otherwise.
void ImportNodes(const ::onnx::ModelProto& model,
                 const std::string& name,
                 ValueMap* values);

}  // namespace sluice::onnx
