#include <algorithm>
#include <string>

#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

void BatchNormalization(Node& node) {
  node.AllowOutputs(1);
  node.attributes().Ignore("momentum");
  node.attributes().Ignore("spatial");  // opset 7: every channel by itself
  if (node.attributes().Int("training_mode", 0) != 0) {
    Node::Unsupported("it is in training_mode");
  }
  // The running statistics stay as they are: they get no outputs that replace
  // them.
  node.Finish("batch_norm",
              {{"X", {node.In(0)}},
               {"Scale", {node.In(1)}},
               {"Bias", {node.In(2)}},
               {"Mean", {node.In(3)}},
               {"Variance", {node.In(4)}}},
              {{"epsilon", node.attributes().Float("epsilon", 1e-5)},
               {"is_test", true}},
              "Y", {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"});
}

void BatchNormalization7(Node& node) {
  if (node.attributes().Int("spatial", 1) != 1) {
    Node::Unsupported("spatial = 0, one mean for each pixel");
  }
  BatchNormalization(node);
}

void Softmax(Node& node, int64_t axis) {
  node.Finish("softmax", {{"X", {node.In(0)}}}, {{"axis", axis}});
}

void Softmax13(Node& node) {
  Softmax(node, node.attributes().Int("axis", -1));
}

// Up to opset 12 all dims from `axis` on are one row.
void Softmax1(Node& node) {
  const DDim x = node.Dims(0);
  const int rank = RankOf(node, 0);
  const auto axis =
      static_cast<int>(AxisOf(node.attributes().Int("axis", 1), rank));
  if (std::all_of(x.begin() + axis + 1, x.end(),
                  [](int64_t size) { return size == 1; })) {
    return Softmax(node, axis);
  }
  if (std::count(x.begin(), x.end(), kUnknownDim) > 1) {
    Node::Unsupported(
        "its row is all dims of {} from {} on, and how to take it apart again "
        "is known only when the model runs",
        platform::Printable(x), axis);
  }
  const Ints shape(x.begin(), x.end());  // -1 for the one that is unknown
  const int64_t unknown =
      std::find(x.begin(), x.end(), kUnknownDim) - x.begin();
  int64_t length = 1;
  for (int i = axis; i < rank; ++i) {
    length *= x[i];
  }
  Ints flat = {-1, length};
  if (unknown >= axis && unknown < rank) {
    flat = {x.Product(0, axis), -1};
  }
  const std::string rows =
      node.Append("reshape", {{"X", {node.In(0)}}}, {{"shape", flat}});
  const std::string result =
      node.Append("softmax", {{"X", {rows}}}, {{"axis", int64_t{1}}});
  node.Finish("reshape", {{"X", {result}}}, {{"shape", shape}});
}

constexpr HandlerRow kRows[] = {
    {"BatchNormalization", 7, BatchNormalization7},
    {"BatchNormalization", 9, BatchNormalization},
    {"Softmax", 1, Softmax1},
    {"Softmax", 13, Softmax13},
};

}  // namespace

std::span<const HandlerRow> NormHandlers() {
  return kRows;
}

}  // namespace sluice::onnx
