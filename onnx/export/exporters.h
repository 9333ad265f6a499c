#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/onnx/export/op_export.h"

namespace sluice::onnx {

// Writes an op as nodes; the last ones compute its outputs.
using Exporter = void (*)(OpExport& op);

// How to write an op of Sluice. An op without a row is written as the
// equivalent operator of its schema (OpSchema::Onnx).
struct ExporterRow {
  std::string_view op;
  Exporter exporter;  // nullptr: ONNX has no operator for it
  Widened widened = Widened::kNone;
  // The first opset whose operator accepts bfloat16 unwidened; 0: none.
  int64_t bfloat16_since = 0;
  // The reason for having no exporter.
  std::string_view reason = {};
};

// The tables, one for each file in onnx/exporters/.
std::span<const ExporterRow> ContractionExporters();
std::span<const ExporterRow> ControlFlowExporters();
std::span<const ExporterRow> CreationExporters();
std::span<const ExporterRow> ElementwiseExporters();
std::span<const ExporterRow> ImageExporters();
std::span<const ExporterRow> IndexingExporters();
std::span<const ExporterRow> LossExporters();
std::span<const ExporterRow> MovementExporters();
std::span<const ExporterRow> NormExporters();
std::span<const ExporterRow> QuantizationExporters();
std::span<const ExporterRow> RecurrentExporters();
std::span<const ExporterRow> ReductionExporters();
std::span<const ExporterRow> SearchExporters();

// Writes the op. For an op without an ONNX operator, raises Unimplemented with
// the id OpExport::kFormId and the reason.
void ExportOp(const OpDesc& op, GraphWriter* graph);

}  // namespace sluice::onnx
