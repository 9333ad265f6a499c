#include <algorithm>
#include <string>
#include <vector>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

constexpr const char* kTraining =
    "it is in training; export program.clone(for_test=True) (C++: "
    "CloneForTest)";

void BatchNorm(OpExport& op) {
  if (!op.Bool("is_test")) OpExport::Unsupported("{}", kTraining);
  // The running statistics do not change.
  op.AllowOnly({"Y", "MeanOut", "VarianceOut"});
  const Names inputs = {op.Image(), op.In("Scale"), op.In("Bias"),
                        op.In("Mean"), op.In("Variance")};
  op.FinishImage("BatchNormalization", inputs,
                 {{"epsilon", op.Attr("epsilon")}}, "Y");
}

void Dropout(OpExport& op) {
  if (!op.Bool("is_test")) OpExport::Unsupported("{}", kTraining);
  op.AllowOnly({"Out"});
  if (op.String("dropout_implementation") == "upscale_in_train") {
    return op.Finish("Identity", {op.In("X")});
  }
  op.Finish("Mul", {op.In("X"),
                    op.Number(1 - op.Float("dropout_prob"), op.TypeOf("X"))});
}

// Fills the shape of dims `begin` to `end` - 1 (or the last) of X with a
// number.
std::string Filled(OpExport& op, double value, int64_t begin, int64_t end) {
  const DDim x = op.Dims("X");
  Ints row;
  if (x.rank_known()) {
    row.assign(x.begin() + begin, x.begin() + std::min<int64_t>(end, x.rank()));
  }
  const bool known =
      x.rank_known() && std::count(row.begin(), row.end(), -1) == 0;
  const std::string shape = known ? op.Vector(row)
                                  : op.Append("Shape", {op.In("X")},
                                              {{"start", begin}, {"end", end}});
  return op.Append("Expand", {op.Number(value, op.TypeOf("X")), shape});
}

// Scale or Bias for rows (the dims of X from `axis` on).
std::string OfRow(OpExport& op,
                  const char* input,
                  double otherwise,
                  int64_t axis) {
  const DDim x = op.Dims("X");
  if (!op.Has(input)) return Filled(op, otherwise, axis, INT64_MAX);
  if (op.Dims(input).rank() == x.rank() - axis) return op.In(input);
  return op.Append("Reshape", {op.In(input), op.Append("Shape", {op.In("X")},
                                                       {{"start", axis}})});
}

int64_t FirstAxis(const OpExport& op) {
  const int64_t axis = op.Int("begin_norm_axis");
  return axis < 0 ? axis + op.Rank("X") : axis;
}

void LayerNorm(OpExport& op) {
  op.AllowOnly({"Y"});
  const int64_t axis = FirstAxis(op);
  const std::string scale = OfRow(op, "Scale", 1, axis);
  const std::string bias = op.Has("Bias") ? OfRow(op, "Bias", 0, axis) : "";
  op.Finish("LayerNormalization", {op.In("X"), scale, bias},
            {{"axis", axis}, {"epsilon", op.Attr("epsilon")}}, "Y");
}

void RmsNorm(OpExport& op) {
  const int64_t axis = FirstAxis(op);
  const std::string x = op.In("X");
  if (op.opset() >= 23) {
    return op.Finish("RMSNormalization", {x, OfRow(op, "Scale", 1, axis)},
                     {{"axis", axis}, {"epsilon", op.Attr("epsilon")}}, "Y");
  }
  Ints axes;
  for (int64_t i = axis; i < op.Rank("X"); ++i) {
    axes.push_back(i);
  }
  const std::string mean =
      op.Append("ReduceMean", {op.Append("Mul", {x, x}), op.Vector(axes)},
                {{"keepdims", int64_t{1}}});
  const std::string sum =
      op.Append("Add", {mean, op.Number(op.Float("epsilon"), op.TypeOf("X"))});
  const Names parts = {x, op.Append("Sqrt", {sum})};
  if (!op.Has("Scale")) return op.Finish("Div", parts, {}, "Y");
  const std::string scale = OfRow(op, "Scale", 1, axis);
  op.Finish("Mul", {op.Append("Div", parts), scale}, {}, "Y");
}

// Writes instance_norm, and group_norm with attribute groups.
void ChannelNorm(OpExport& op) {
  op.AllowOnly({"Y"});
  op.Rank("X");
  const auto of_channels = [&](const char* input, double otherwise) {
    return op.Has(input) ? op.In(input) : Filled(op, otherwise, 1, 2);
  };
  const std::string scale = of_channels("Scale", 1);
  const Names inputs = {op.In("X"), scale, of_channels("Bias", 0)};
  AttributeMap attributes = {{"epsilon", op.Attr("epsilon")}};
  if (op.type() == "instance_norm") {
    return op.Finish("InstanceNormalization", inputs, attributes, "Y");
  }
  attributes["num_groups"] = op.Attr("groups");
  op.Finish("GroupNormalization", inputs, attributes, "Y");
}

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

}  // namespace

const ExporterTable kNormExporters = {
    {"batch_norm", BatchNorm},
    {"dropout", Dropout, Widened::kHalves},
    {"group_norm", ChannelNorm},
    {"instance_norm", ChannelNorm, Widened::kBFloat16, 22},
    {"layer_norm", LayerNorm},
    {"rms_norm", RmsNorm, Widened::kHalves, 23},
    {"accuracy", Accuracy},
    {"average_embedding_mask discriminative_loss", nullptr, Widened::kNone, 0,
     kMasks},
    {"crf_decoding linear_chain_crf", nullptr, Widened::kNone, 0, kSequences},
    {"softmax_with_cross_entropy", CrossEntropy, Widened::kHalves},
};

}  // namespace sluice::onnx
