#include <cmath>
#include <string>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

std::string Int64(OpExport& op, const char* input) {
  std::string value = op.In(input);
  if (op.TypeOf(input) == DType::kInt64) return value;
  return op.Cast(value, DType::kInt64);
}

// ONNX requires int64 coordinates.
void GatherNd(OpExport& op) {
  op.Finish("GatherND", {op.In("X"), Int64(op, "Index")},
            {{"batch_dims", op.Attr("batch_dims")}});
}

// If the old values of X must not count, a first node overwrites them with the
// neutral element of the reduction, or with the updates.
void Scatter(OpExport& op) {
  const bool nd = op.type() == "scatter_nd";
  const char* type = nd ? "ScatterND" : "ScatterElements";
  const std::string index = nd ? Int64(op, "Index") : op.In("Index");
  const std::string updates = op.In("Updates");
  const std::string& reduction = op.String("reduction");
  std::string x = op.In("X");
  AttributeMap attributes;
  if (!nd) attributes["axis"] = op.Attr("axis");
  if (!op.Bool("include_self") && reduction != "none") {
    std::string start = updates;
    if (reduction == "add" || reduction == "mul") {
      const double number = reduction == "mul" ? 1 : 0;
      start = op.Append("Expand", {op.Number(number, op.TypeOf("X")),
                                   op.Append("Shape", {updates})});
    }
    x = op.Append(type, {x, index, start}, attributes);
  }
  attributes["reduction"] = reduction;
  op.Finish(type, {x, index, updates}, attributes);
}

// ONNX returns no row for a scalar index. onnxruntime requires int64.
void OneHot(OpExport& op) {
  const std::string depth = op.Operand("Depth");
  if (op.Dims("X").rank() == 0) {
    const std::string index = op.Reshape(Int64(op, "X"), {1});
    const std::string row =
        op.Append("OneHot", {index, depth, op.In("Values")});
    return op.Finish("Squeeze", {row, op.Vector({0})});
  }
  op.Finish("OneHot", {Int64(op, "X"), depth, op.In("Values")},
            {{"axis", op.Attr("axis")}});
}

// Looks up rows of W; rows of padding_idx are 0.
void LookupTable(OpExport& op) {
  const DDim dims = op.Dims("Ids");
  const int rank = op.Rank("Ids");
  std::string ids = op.In("Ids");
  if (rank > 1 && op.Bool("drop_last_dim")) {
    const int64_t last = dims[rank - 1];
    if (last < 0) {
      OpExport::Unsupported(
          "whether the last dim of Ids, {}, is dropped is known only when it "
          "runs: set attribute drop_last_dim to false",
          dims);
    }
    if (last == 1) ids = op.Append("Squeeze", {ids, op.Vector({rank - 1})});
  }
  const AttributeMap rows = {{"axis", int64_t{0}}};
  const int64_t padding = op.Int("padding_idx");
  if (padding < 0) return op.Finish("Gather", {op.In("W"), ids}, rows);
  const std::string picked = op.Append("Gather", {op.In("W"), ids}, rows);
  const std::string number =
      op.Number(static_cast<double>(padding), op.TypeOf("Ids"));
  const std::string equal = op.Append("Equal", {ids, number});
  const std::string is_padding =
      op.Append("Unsqueeze", {equal, op.Vector({-1})});
  op.Finish("Where", {is_padding, op.Number(0, op.TypeOf("W")), picked});
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

}  // namespace

const ExporterTable kIndexingExporters = {
    {"gather_nd", GatherNd},
    {"lookup_table", LookupTable},
    {"one_hot", OneHot, Widened::kBFloat16},
    {"scatter_elements scatter_nd", Scatter},
    {"arg_max arg_min", ArgBest},
    {"compress", Compress, Widened::kBFloat16},
    {"non_max_suppression", NonMaxSuppression},
    {"top_k", TopK, Widened::kBFloat16, 24},
    {"unique", Unique, Widened::kBFloat16},
    {"tree_ensemble", nullptr, Widened::kNone, 0,
     "ONNX has trees as attributes only, not as tensors"},
    {"regex_full_match string_concat string_normalize string_split tokenize",
     nullptr, Widened::kNone, 0, "strings are numbers of a table in a program"},
};

}  // namespace sluice::onnx
