#include <string>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

void Mean(OpExport& op) {
  op.Finish("ReduceMean", {op.In("X")}, {{"keepdims", int64_t{0}}});
}

// Whether all or any are true: the least or the largest.
void OfBools(OpExport& op) {
  const bool all_dims =
      op.Bool("reduce_all") || (!op.Has("Dim") && op.List("dim").empty());
  op.Finish(op.type() == "reduce_all" ? "ReduceMin" : "ReduceMax",
            {op.In("X"), all_dims ? "" : op.Operand("Dim")},
            {{"keepdims", op.Attr("keep_dim")}});
}

void ArgBest(OpExport& op) {
  const bool keep = op.Bool("keepdims");
  const AttributeMap attributes = {
      {"axis", op.Bool("flatten") ? int64_t{0} : op.Int("axis")},
      {"keepdims", int64_t{keep}},
      {"select_last_index", op.Attr("select_last_index")}};
  const char* type = op.type() == "arg_max" ? "ArgMax" : "ArgMin";
  if (!op.Bool("flatten")) return op.Finish(type, {op.In("X")}, attributes);
  const std::string row = op.Reshape(op.In("X"), {-1});
  if (!keep) return op.Finish(type, {row}, attributes);
  const Ints ones(static_cast<size_t>(op.Rank("X")), 1);
  op.Finish("Reshape", {op.Append(type, {row}, attributes), op.Vector(ones)});
}

void TopK(OpExport& op) {
  const std::string k =
      op.Has("K") ? op.Reshape(op.Operand("K"), {1}) : op.Vector({op.Int("k")});
  op.FinishAll("TopK", {op.In("X"), k},
               {{"largest", op.Attr("largest")}, {"sorted", op.Attr("sorted")}},
               {"Out", "Indices"});
}

constexpr ExporterRow kRows[] = {
    {"arg_max", ArgBest},    {"arg_min", ArgBest},
    {"mean", Mean},          {"reduce_all", OfBools},
    {"reduce_any", OfBools}, {"top_k", TopK, Widened::kBFloat16, 24},
};

}  // namespace

// Others are known by their schemas (export/counterpart_export.h).
std::span<const ExporterRow> ReductionExporters() {
  return kRows;
}

}  // namespace sluice::onnx
