#pragma once

#include <string>

#include "sluice/onnx/import/messages.h"
#include "sluice/onnx/import/value_map.h"

namespace sluice::onnx {

// Adds the ops of all nodes, in order. Errors name the model `name`. Raises one
// Unimplemented for all nodes that cannot be imported, and other errors of
// nodes.
void ImportNodes(const ::onnx::ModelProto& model,
                 const std::string& name,
                 ValueMap* values);

}  // namespace sluice::onnx
