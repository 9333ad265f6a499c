#include <string>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

void Mean(OpExport& op) {
  op.Finish("ReduceMean", {op.In("X")}, {{"keepdims", int64_t{0}}});
}

// reduce_all and reduce_any of bools are the minimum and the maximum.
void OfBools(OpExport& op) {
  const bool all_dims =
      op.Bool("reduce_all") || (!op.Has("Dim") && op.List("dim").empty());
  op.Finish(op.type() == "reduce_all" ? "ReduceMin" : "ReduceMax",
            {op.In("X"), all_dims ? "" : op.Operand("Dim")},
            {{"keepdims", op.Attr("keep_dim")}});
}

constexpr ExporterRow kReductionRows[] = {
    {"mean", Mean},
    {"reduce_all", OfBools},
    {"reduce_any", OfBools},
};

}  // namespace

// Ops without a row use their schemas (export/counterpart_export.h).
std::span<const ExporterRow> ReductionExporters() {
  return kReductionRows;
}

}  // namespace sluice::onnx
