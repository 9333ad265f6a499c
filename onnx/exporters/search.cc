#include <cmath>
#include <string>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

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

void Compress(OpExport& op) {
  AttributeMap attributes;
  if (!op.Bool("flatten")) attributes["axis"] = op.Attr("axis");
  op.Finish("Compress", {op.In("X"), op.In("Condition")}, attributes);
}

void Unique(OpExport& op) {
  AttributeMap attributes = {{"sorted", op.Attr("sorted")}};
  if (!op.Bool("flatten")) attributes["axis"] = op.Attr("axis");
  op.FinishAll("Unique", {op.In("X")}, attributes,
               {"Out", "Index", "Inverse", "Counts"});
}

// ONNX's reference evaluator accepts a vector of one element, but no scalar.
std::string Threshold(OpExport& op,
                      const char* operand,
                      const char* attribute) {
  if (op.Has(operand)) return op.Reshape(op.In(operand), {1});
  const auto number = static_cast<float>(op.Float(attribute));
  return op.Constant(Tensor::FromVector<float>({1}, {number}));
}

// Without a score_threshold, all scores are candidates.
void NonMaxSuppression(OpExport& op) {
  const std::string most =
      op.Has("MaxOutput") ? op.Reshape(op.Operand("MaxOutput"), {1})
                          : op.Vector({op.Int("max_output_boxes_per_class")});
  const bool all_scores = !op.Has("ScoreThreshold") &&
                          std::isinf(op.Float("score_threshold")) &&
                          op.Float("score_threshold") < 0;
  op.Finish(
      "NonMaxSuppression",
      {op.In("Boxes"), op.In("Scores"), most,
       Threshold(op, "IouThreshold", "iou_threshold"),
       all_scores ? "" : Threshold(op, "ScoreThreshold", "score_threshold")},
      {{"center_point_box", op.Attr("center_point_box")}});
}

constexpr ExporterRow kSearchRows[] = {
    {"arg_max", ArgBest},
    {"arg_min", ArgBest},
    {"compress", Compress, Widened::kBFloat16},
    {"non_max_suppression", NonMaxSuppression},
    {"top_k", TopK, Widened::kBFloat16, 24},
    {"unique", Unique, Widened::kBFloat16},
};

}  // namespace

std::span<const ExporterRow> SearchExporters() {
  return kSearchRows;
}

}  // namespace sluice::onnx
