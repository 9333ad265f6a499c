#include <numeric>
#include <string>
#include <utility>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// Imports the name that ScatterElements had before opset 11.
void Scatter(Node& node) {
  node.FinishAs("scatter_elements",
                {{"axis", node.attributes().Int("axis", 0)}});
}

// Indices and depths may have any numeric type.
std::string AsInt64(Node& node, int index) {
  if (node.TypeOf(index) == DType::kInt64) return node.In(index);
  return node.Unary("cast", node.In(index), {{"dtype", DType::kInt64}});
}

void OneHot(Node& node) {
  AttributeMap attributes = {{"axis", node.attributes().Int("axis", -1)}};
  const bool narrow = node.TypeOf(0) == DType::kInt32;
  Inputs inputs = {{"X", {narrow ? node.In(0) : AsInt64(node, 0)}},
                   {"Values", {node.In(2)}}};
  const std::string depth = AsInt64(node, 1);
  const Tensor* constant = node.ConstantOf(depth);
  if (constant != nullptr && constant->numel() == 1) {
    attributes["depth"] = constant->data<int64_t>()[0];
  } else {
    inputs.emplace_back("Depth", ArgVars{depth});
  }
  node.Finish("one_hot", inputs, attributes);
}

// A [1, n] of 0, 1, 2, ..., where n is the size of dim 1 of `x`.
std::string Positions(Node& node, const std::string& x) {
  const DDim dims = node.DimsOf(x);
  if (dims.rank() > 1 && dims[1] >= 0) {
    const std::string counted =
        node.Append("range", {{"End", {node.Whole(dims[1])}}});
    return node.Unsqueeze(counted, {0});
  }
  const std::string size = node.Slice(node.Unary("shape", x), 1, 2);
  const std::string ones =
      node.Append("expand", {{"X", {node.Vector({1})}}, {"Shape", {size}}});
  const std::string counted = node.Unary("cumsum", ones, {{"exclusive", true}});
  return node.Unsqueeze(counted, {0});
}

// Reverses the first elements of each sequence, up to its length. The others do
// not move.
void ReverseSequence(Node& node) {
  const int rank = RankOf(node, 0);
  const int64_t batch = AxisOf(node.attributes().Int("batch_axis", 1), rank);
  const int64_t time = AxisOf(node.attributes().Int("time_axis", 0), rank);
  SLUICE_ENFORCE(batch + time == 1, ErrorCode::kInvalidArgument,
                 "onnx.sequence_axes",
                 "batch_axis is {} and time_axis {}; expected 0 and 1, or 1 "
                 "and 0",
                 batch, time);
  Ints order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  std::string x = node.In(0);
  if (time == 0) x = node.Transpose(x, order);
  const std::string positions = Positions(node, x);
  const std::string lengths = node.Unsqueeze(node.In(1), {1});
  const std::string last =
      node.Binary("elementwise_sub", {lengths, node.Whole(1)});
  const std::string mirrored =
      node.Binary("elementwise_sub", {last, positions});
  const std::string inside = node.Binary("less_than", {positions, lengths});
  const std::string index =
      node.Unsqueeze(node.Where({inside, mirrored, positions}), {2});
  const Inputs inputs = {{"X", {x}}, {"Index", {index}}};
  const AttributeMap batches = {{"batch_dims", int64_t{1}}};
  if (time == 1) return node.Finish("gather_nd", inputs, batches);
  const std::string reversed = node.Append("gather_nd", inputs, batches);
  node.FinishUnary("transpose", reversed, {{"axis", order}});
}

// The size of dim `axis` of a variable, as an int64 variable [1].
std::string SizeAt(Node& node, const std::string& x, int64_t axis) {
  return node.Unary("shape", x, {{"start", axis}, {"end", axis + 1}});
}

// Writes rows into a cache, for each element of the batch from an index of its
// own on.
void TensorScatter(Node& node) {
  const int rank = RankOf(node, 0);
  const int64_t axis = AxisOf(node.attributes().Int("axis", -2), rank);
  const std::string mode = node.attributes().String("mode", "linear");
  SLUICE_ENFORCE(axis > 0 && (mode == "linear" || mode == "circular"),
                 ErrorCode::kInvalidArgument, "onnx.tensor_scatter",
                 "axis is {} and mode {}; expected another axis than that of "
                 "the batch, 0, and linear or circular",
                 axis, Shown(mode));
  Ints order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[1], order[static_cast<size_t>(axis)]);
  const std::string batch = node.Count(SizeAt(node, node.In(0), 0));
  const std::string rows = node.Count(SizeAt(node, node.In(1), axis));
  const auto column = [&node](const std::string& x) {
    return node.Unsqueeze(x, {1});
  };
  std::string first = node.Vector({0});
  if (node.HasInput(2)) first = node.Cast(node.In(2), DType::kInt64);
  std::string places = node.Binary("elementwise_add", {column(first), rows});
  if (mode == "circular") {
    places = node.Binary("elementwise_mod",
                         {places, SizeAt(node, node.In(0), axis)});
  }
  const std::string none =
      node.Binary("elementwise_mul", {rows, node.Whole(0)});
  const std::string images =
      node.Binary("elementwise_add", {column(batch), none});
  places = node.Binary(
      "elementwise_add",
      {places, node.Binary("elementwise_mul", {images, node.Whole(0)})});
  const std::string index = node.Concat(
      {node.Unsqueeze(images, {2}), node.Unsqueeze(places, {2})}, 2);
  const std::string written = node.Append(
      "scatter_nd", {{"X", {node.Transpose(node.In(0), order)}},
                     {"Index", {index}},
                     {"Updates", {node.Transpose(node.In(1), order)}}});
  node.FinishUnary("transpose", written, {{"axis", order}});
}

void ArgBest(Node& node) {
  Attributes& attributes = node.attributes();
  node.FinishUnary(
      node.type() == "ArgMax" ? "arg_max" : "arg_min", node.In(0),
      {{"axis", attributes.Int("axis", 0)},
       {"keepdims", attributes.Flag("keepdims", true)},
       {"select_last_index", attributes.Flag("select_last_index")}});
}

// Op top_k works along the last dim. Another axis is transposed there and back.
void TopK(Node& node, const Inputs& operands, AttributeMap attributes) {
  const int64_t given = node.attributes().Int("axis", -1);
  const bool is_last = given == -1 && !node.Dims(0).rank_known();
  const int rank = is_last ? 1 : RankOf(node, 0);
  const int64_t axis = AxisOf(given, rank);
  attributes["largest"] = node.attributes().Flag("largest", true);
  attributes["sorted"] = node.attributes().Flag("sorted", true);
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
  node.FinishAs("compress", std::move(attributes));
}

void Unique(Node& node) {
  AttributeMap attributes = {
      {"sorted", node.attributes().Flag("sorted", true)}};
  if (node.attributes().Has("axis")) {
    attributes["flatten"] = false;
    attributes["axis"] = node.attributes().Int("axis", 0);
  }
  node.FinishAll("unique", {{"X", {node.In(0)}}}, std::move(attributes),
                 {"Out", "Index", "Inverse", "Counts"});
}

// Unlike ONNX's it has no places of first elements, and is not sorted.
void UniqueInOrder(Node& node) {
  node.FinishAll("unique", {{"X", {node.In(0)}}}, {{"sorted", false}},
                 {"Out", "Inverse", "Counts"});
}

// Operators of onnxruntime that ONNX took over.
void AsInOnnx(Node& node) {
  ImportCounterpart(*FindCounterpart(node.type()), node);
}

void NonMaxSuppression(Node& node) {
  node.FinishAs(
      "non_max_suppression",
      {{"center_point_box", node.attributes().Int("center_point_box", 0)}});
}

}  // namespace

const HandlerTable kIndexingHandlers = {
    {"OneHot", 9, OneHot},
    {"ReverseSequence", 10, ReverseSequence},
    {"Scatter", 9, Scatter},
    {"ArgMax ArgMin", 1, ArgBest},
    {"Compress", 9, Compress},
    {"NonMaxSuppression", 10, NonMaxSuppression},
    {"TensorScatter", 24, TensorScatter},
    {"TopK", 1, TopK1},
    {"TopK", 10, TopK10},
    {"Unique", 11, Unique},
    {"com.microsoft.Unique", 1, UniqueInOrder},
    {"com.microsoft.GatherND com.microsoft.Trilu", 1, AsInOnnx},
};

}  // namespace sluice::onnx
