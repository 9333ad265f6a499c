#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "sluice/onnx/export/op_export.h"

namespace sluice::onnx {

// Writes an op as nodes; the last ones compute its outputs.
using Exporter = void (*)(OpExport& op);

// How to write ops of Sluice, whose names spaces separate. An op without a row
// is written as the equivalent operator of its schema (OpSchema::Onnx).
struct ExporterRow {
  std::string_view ops;
  Exporter exporter;  // nullptr: ONNX has no operator for it
  Widened widened = Widened::kNone;
  // The first opset whose operator accepts bfloat16 unwidened; 0: none.
  int64_t bfloat16_since = 0;
  // The reason for having no exporter.
  std::string_view reason = {};
};

using ExporterTable = std::initializer_list<ExporterRow>;

// The tables, one for each file in onnx/exporters/.
extern const ExporterTable kContractionExporters, kControlFlowExporters,
    kElementwiseExporters, kImageExporters, kIndexingExporters,
    kMovementExporters, kNormExporters, kRecurrentExporters;

// Writes the op. For an op without an ONNX operator, raises Unimplemented with
// the id OpExport::kFormId and the reason.
void ExportOp(const OpDesc& op, GraphWriter* graph);

// Writes an op as the equivalent ONNX operator of its schema (OpSchema::Onnx):
// inputs in order, attributes with ONNX's names. Attributes that are inputs in
// newer opsets become constants.
void ExportCounterpart(const OpDesc& op, GraphWriter* graph);

// Input Y of an op with two operands, reshaped so that its last dim is aligned
// with the last dim of X. Attribute axis is the dim of X where Y begins.
std::string AlignedY(OpExport& op);

}  // namespace sluice::onnx
