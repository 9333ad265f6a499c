#pragma once

#include <string>

#include "sluice/onnx/export/op_export.h"

namespace sluice::onnx {

// Writes an op as the equivalent ONNX operator of its schema (OpSchema::Onnx):
// inputs in order, attributes with ONNX's names. Attributes that are inputs in
// newer opsets become constants.
void ExportCounterpart(const OpDesc& op, GraphWriter* graph);

// Input Y of an op with two operands, reshaped so that its last dim is aligned
// with the last dim of X. Attribute axis is the dim of X where Y begins.
std::string AlignedY(OpExport& op);

}  // namespace sluice::onnx
