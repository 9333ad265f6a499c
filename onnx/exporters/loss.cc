#include <string>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

// Computes -log softmax[label] of each row, or the sum over the classes of
// -weight * log softmax.
void CrossEntropy(OpExport& op) {
  // Some readers reject negative axes.
  const int rank = op.Rank("Logits");
  const int64_t given = op.Int("axis"), axis = given < 0 ? given + rank : given;
  const AttributeMap along = {{"axis", axis}};
  const std::string logits = op.In("Logits"), label = op.In("Label");
  if (op.IsRead("Softmax")) op.Finish("Softmax", {logits}, along, "Softmax");
  if (!op.IsRead("Loss")) return;
  const std::string logs = op.Append("LogSoftmax", {logits}, along);
  if (op.Bool("soft_label")) {
    const std::string sum = op.Append(
        "ReduceSum", {op.Append("Mul", {label, logs}), op.Vector({axis})},
        {{"keepdims", int64_t{1}}});
    return op.Finish("Neg", {sum}, {}, "Loss");
  }
  const std::string ignored =
      op.Append("Equal", {label, op.Whole(op.Int("ignore_index"))});
  // Ignored labels are replaced by a valid class.
  const std::string some = op.Append("Where", {ignored, op.Whole(0), label});
  const std::string picked = op.Append("GatherElements", {logs, some}, along);
  const std::string loss = op.Append("Neg", {picked});
  op.Finish("Where", {ignored, op.Number(0, op.TypeOf("Logits")), loss}, {},
            "Loss");
}

// The share of rows whose label is among the top k.
void Accuracy(OpExport& op) {
  std::string label = op.In("Label");
  if (op.Rank("Label") == 1) {
    label = op.Append("Unsqueeze", {label, op.Vector({1})});
  }
  const std::string hits = op.Append("Equal", {op.In("Indices"), label});
  // A row may contain a label twice, or not at all.
  const std::string count =
      op.Append("ReduceSum", {op.Cast(hits, DType::kInt32), op.Vector({1})},
                {{"keepdims", int64_t{0}}});
  const std::string right =
      op.Cast(op.Append("Greater", {count, op.Number(0, DType::kInt32)}),
              DType::kInt32);
  const std::string correct = op.Append("ReduceSum", {right, op.Vector({0})},
                                        {{"keepdims", int64_t{1}}});
  const std::string rows =
      op.Append("Shape", {op.In("Label")}, {{"end", int64_t{1}}});
  if (op.IsRead("Correct")) op.Finish("Identity", {correct}, {}, "Correct");
  if (op.IsRead("Total")) {
    op.Finish("Cast", {rows}, {{"to", DType::kInt32}}, "Total");
  }
  if (!op.IsRead("Accuracy")) return;
  op.Finish("Div",
            {op.Cast(correct, DType::kFloat32), op.Cast(rows, DType::kFloat32)},
            {}, "Accuracy");
}

constexpr std::string_view kSequences =
    "ONNX has no operator for conditional random fields; export the program up "
    "to their emissions";

constexpr std::string_view kMasks = "ONNX has no operator for masks of runs";

constexpr ExporterRow kLossRows[] = {
    {"accuracy", Accuracy},
    {"average_embedding_mask", nullptr, Widened::kNone, 0, kMasks},
    {"crf_decoding", nullptr, Widened::kNone, 0, kSequences},
    {"discriminative_loss", nullptr, Widened::kNone, 0, kMasks},
    {"linear_chain_crf", nullptr, Widened::kNone, 0, kSequences},
    {"softmax_with_cross_entropy", CrossEntropy, Widened::kHalves},
};

}  // namespace

std::span<const ExporterRow> LossExporters() {
  return kLossRows;
}

}  // namespace sluice::onnx
