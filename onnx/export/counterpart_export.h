#pragma once

#include <string>

#include "sluice/onnx/export/op_export.h"

namespace sluice::onnx {

// Writes an op as the operator that its schema says is the same
// (OpSchema::Onnx): inputs in order, attributes by ONNX's names, those that
// newer opsets have as inputs as constants.
void ExportCounterpart(const framework::OpDesc& op, GraphWriter* graph);

// Input Y of an op with two operands, so that its last dim is under the last
// dim of X: attribute axis says where Y begins in X.
std::string AlignedY(OpExport& op);

}  // namespace sluice::onnx
