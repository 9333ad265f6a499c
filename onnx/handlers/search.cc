#include <numeric>
#include <string>
#include <utility>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

template <bool kLargest>
void ArgBest(Node& node) {
  Attributes& attributes = node.attributes();
  node.FinishUnary(
      kLargest ? "arg_max" : "arg_min", node.In(0),
      {{"axis", attributes.Int("axis", 0)},
       {"keepdims", attributes.Int("keepdims", 1) != 0},
       {"select_last_index", attributes.Int("select_last_index", 0) != 0}});
}

// Op top_k works along the last dim. Another axis is transposed there and back.
void TopK(Node& node, const Inputs& operands, AttributeMap attributes) {
  const int64_t given = node.attributes().Int("axis", -1);
  const bool is_last = given == -1 && !node.Dims(0).rank_known();
  const int rank = is_last ? 1 : RankOf(node, 0);
  const int64_t axis = AxisOf(given, rank);
  attributes["largest"] = node.attributes().Int("largest", 1) != 0;
  attributes["sorted"] = node.attributes().Int("sorted", 1) != 0;
  const auto inputs = [&operands](const std::string& x) {
    Inputs all = {{"X", {x}}};
    all.insert(all.end(), operands.begin(), operands.end());
    return all;
  };
  if (axis == rank - 1) {
    return node.FinishAll("top_k", inputs(node.In(0)), attributes,
                          {"Out", "Indices"});
  }
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order[rank - 1]);
  const AttributeMap turn = {{"axis", order}};
  const std::string x = node.Unary("transpose", node.In(0), turn);
  const auto found =
      node.AppendAll("top_k", inputs(x), attributes, {"Out", "Indices"});
  for (int i = 0; i < 2; ++i) {
    if (node.HasOutput(i)) {
      node.FinishOutput(i, "transpose", {{"X", {found[i]}}}, turn);
    }
  }
}

void TopK1(Node& node) {
  TopK(node, {}, {{"k", node.attributes().NeededInt("k")}});
}

void TopK10(Node& node) {
  if (node.Constant(1) == nullptr) return TopK(node, {{"K", {node.In(1)}}}, {});
  const Ints k = node.ConstantInts(1, "number k");
  SLUICE_ENFORCE(k.size() == 1, ErrorCode::kInvalidArgument, "onnx.top_k",
                 "its input k has {} elements; expected one", k.size());
  TopK(node, {}, {{"k", k[0]}});
}

void Compress(Node& node) {
  AttributeMap attributes;
  if (node.attributes().Has("axis")) {
    attributes["axis"] = node.attributes().Int("axis", 0);
  } else {
    attributes["flatten"] = true;
  }
  node.Finish("compress", {{"X", {node.In(0)}}, {"Condition", {node.In(1)}}},
              std::move(attributes));
}

void Unique(Node& node) {
  AttributeMap attributes = {
      {"sorted", node.attributes().Int("sorted", 1) != 0}};
  if (node.attributes().Has("axis")) {
    attributes["flatten"] = false;
    attributes["axis"] = node.attributes().Int("axis", 0);
  }
  node.FinishAll("unique", {{"X", {node.In(0)}}}, std::move(attributes),
                 {"Out", "Index", "Inverse", "Counts"});
}

void NonMaxSuppression(Node& node) {
  Inputs inputs = {{"Boxes", {node.In(0)}}, {"Scores", {node.In(1)}}};
  const char* const operands[] = {"MaxOutput", "IouThreshold",
                                  "ScoreThreshold"};
  for (int i = 0; i < 3; ++i) {
    if (node.HasInput(i + 2)) inputs.push_back({operands[i], {node.In(i + 2)}});
  }
  node.Finish(
      "non_max_suppression", std::move(inputs),
      {{"center_point_box", node.attributes().Int("center_point_box", 0)}});
}

constexpr HandlerRow kSearchRows[] = {
    {"ArgMax", 1, ArgBest<true>}, {"ArgMin", 1, ArgBest<false>},
    {"Compress", 9, Compress},    {"NonMaxSuppression", 10, NonMaxSuppression},
    {"TopK", 1, TopK1},           {"TopK", 10, TopK10},
    {"Unique", 11, Unique},
};

}  // namespace

std::span<const HandlerRow> SearchHandlers() {
  return kSearchRows;
}

}  // namespace sluice::onnx
