#pragma once

#include <string_view>

#include "sluice/framework/op/op_schema.h"
#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// The op whose schema says that it is this operator of ONNX
// (OpSchema::Onnx); nullptr where none does.
const framework::OpSchema* FindCounterpart(std::string_view type);

// Imports a node as that op: inputs in order, attributes by their names.
// Attributes that the node leaves out have the op's defaults.
void ImportCounterpart(const framework::OpSchema& schema, Node& node);

}  // namespace sluice::onnx
