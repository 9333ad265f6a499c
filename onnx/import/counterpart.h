#pragma once

#include <string_view>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// The op whose schema is equivalent to this ONNX operator (OpSchema::Onnx), or
// nullptr.
const OpSchema* FindCounterpart(std::string_view type);

// Imports a node as that op: inputs in order, attributes by name. Omitted
// attributes get the op's defaults.
void ImportCounterpart(const OpSchema& schema, Node& node);

}  // namespace sluice::onnx
