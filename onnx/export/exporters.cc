#include "sluice/onnx/export/exporters.h"

#include <map>

#include "sluice/onnx/export/counterpart_export.h"
#include "sluice/platform/number_format.h"

namespace sluice::onnx {

namespace {

using Table = std::map<std::string_view, const ExporterRow*>;

const Table& AllExporters() {
  static const Table* const kTable = [] {
    auto* rows = new Table();  // never freed: it may be read at exit
    for (const auto family :
         {ContractionExporters(), ControlFlowExporters(), CreationExporters(),
          ElementwiseExporters(), ImageExporters(), IndexingExporters(),
          LossExporters(), MovementExporters(), NormExporters(),
          QuantizationExporters(), RecurrentExporters(), ReductionExporters(),
          SearchExporters()}) {
      for (const ExporterRow& row : family) {
        (*rows)[row.op] = &row;
      }
    }
    return rows;
  }();
  return *kTable;
}

// Raises if the opset lacks a dtype of the op.
void CheckDTypes(const OpDesc& op, const GraphWriter& graph) {
  for (const auto* arguments : {&op.inputs, &op.outputs}) {
    for (const auto& [argument, vars] : *arguments) {
      for (const std::string& var : vars) {
        const DType dtype = graph.Var(var).dtype;
        const int since = FormatOf(dtype).onnx_since;
        if (graph.opset() >= since) continue;
        OpExport::Unsupported("ONNX has no {} in opset {}; opset {} has it",
                              dtype, graph.opset(), since);
      }
    }
  }
}

}  // namespace

void ExportOp(const OpDesc& op, GraphWriter* graph) {
  CheckDTypes(op, *graph);
  const auto found = AllExporters().find(op.type);
  if (found != AllExporters().end()) {
    const ExporterRow& row = *found->second;
    if (row.exporter == nullptr) OpExport::Unsupported("{}", row.reason);
    const bool taken =
        row.bfloat16_since > 0 && graph->opset() >= row.bfloat16_since;
    OpExport node(op, taken ? Widened::kNone : row.widened, graph);
    return row.exporter(node);
  }
  const OpSchema& schema = Registry::Global().Schema(op.type);
  if (schema.onnx().op_type.empty()) {
    OpExport::Unsupported("ONNX has no operator that computes the same");
  }
  ExportCounterpart(op, graph);
}

}  // namespace sluice::onnx
