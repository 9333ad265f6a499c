#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/onnx/export/op_export.h"

namespace sluice::onnx {

// Writes an op as nodes, the last of which make its outputs.
using Exporter = void (*)(OpExport& op);

// How an op of Sluice is written. Ops without a row, whose schema says that
// ONNX has the same, are written as that (OpSchema::Onnx).
struct ExporterRow {
  std::string_view op;
  Exporter exporter;  // nullptr: ONNX has nothing for it
  Widened widened = Widened::kNone;
  // From this opset on ONNX takes bfloat16 and nothing is widened; 0: never.
  int64_t bfloat16_since = 0;
  // Why there is no exporter.
  std::string_view reason = {};
};

// The tables, one a file in onnx/exporters/.
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

// Writes the op. Raises Unimplemented with the id OpExport::kFormId, and the
// reason, for one that ONNX has nothing for.
void ExportOp(const framework::OpDesc& op, GraphWriter* graph);

}  // namespace sluice::onnx
