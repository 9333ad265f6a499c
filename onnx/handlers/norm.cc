#include <algorithm>
#include <string>
#include <vector>

#include "sluice/onnx/handlers/row_moments.h"
#include "sluice/onnx/handlers/window.h"
#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

void BatchNormalization(Node& node) {
  node.AllowOutputs(1);
  node.attributes().Ignore("momentum");
  node.attributes().Ignore("spatial");  // opset 7: each channel separately
  // Without these outputs, the running statistics are not changed.
  node.FinishAs("batch_norm",
                {{"epsilon", node.attributes().Float("epsilon", 1e-5)},
                 {"is_test", true}},
                "Y", {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"});
}

// From opset 14 on an attribute selects training; its outputs are the new
// statistics.
void BatchNormalization14(Node& node) {
  if (node.attributes().Int("training_mode", 0) == 0) {
    return BatchNormalization(node);
  }
  node.FinishAll("batch_norm", node.InputsOf("batch_norm"),
                 {{"epsilon", node.attributes().Float("epsilon", 1e-5)},
                  {"momentum", node.attributes().Float("momentum", 0.9)}},
                 {"Y", "MeanOut", "VarianceOut", "SavedMean", "SavedVariance"});
}

void BatchNormalization7(Node& node) {
  if (node.attributes().Int("spatial", 1) != 1) {
    Node::Unsupported("spatial = 0, one mean for each pixel");
  }
  BatchNormalization(node);
}

// Up to opset 12 all dims from `axis` on form one row. compute(x, axis, last)
// adds the op that computes rows along `axis`, with Finish if it is the last
// op, else with Append, and returns its name.
template <typename Compute>
void ByRows(Node& node, const Compute& compute) {
  const DDim x = node.Dims(0);
  const int rank = RankOf(node, 0);
  const auto axis =
      static_cast<int>(AxisOf(node.attributes().Int("axis", 1), rank));
  if (std::all_of(x.begin() + axis + 1, x.end(),
                  [](int64_t size) { return size == 1; })) {
    compute(node.In(0), axis, true);
    return;
  }
  if (std::count(x.begin(), x.end(), kUnknownDim) > 1) {
    Node::Unsupported(
        "its row is all dims of {} from {} on, and how to take it apart again "
        "is known only when the model runs",
        Printable(x), axis);
  }
  const Ints shape(x.begin(), x.end());  // -1 for the unknown dim
  const int64_t unknown =
      std::find(x.begin(), x.end(), kUnknownDim) - x.begin();
  const bool open = unknown >= axis && unknown < rank;
  const Ints flat =
      open ? Ints{x.Product(0, axis), -1} : Ints{-1, x.Product(axis, rank)};
  const std::string result = compute(node.Reshape(node.In(0), flat), 1, false);
  node.FinishUnary("reshape", result, {{"shape", shape}});
}

// Adds the last op of a node, or an earlier one, and returns its name.
std::string FinishOrAppend(Node& node,
                           bool last,
                           const std::string& op,
                           const Inputs& inputs,
                           const AttributeMap& attributes) {
  if (!last) return node.Append(op, inputs, attributes);
  node.Finish(op, inputs, attributes);
  return "";
}

void Softmax1(Node& node) {
  const std::string& op = FindCounterpart(node.type())->name();
  ByRows(node, [&](const std::string& x, int64_t axis, bool last) {
    return FinishOrAppend(node, last, op, {{"X", {x}}}, {{"axis", axis}});
  });
}

// Computes 1 for the first maximum along the axis, 0 for the others.
std::string HardmaxOf(Node& node,
                      const std::string& x,
                      int64_t axis,
                      bool last) {
  const std::string best = node.Unary("arg_max", x, {{"axis", axis}});
  const std::string values = node.Unary(
      "cast", node.NewConstant(Tensor::FromVector<float>({2}, {0, 1})),
      {{"dtype", node.TypeOf(0)}});
  Inputs inputs = {{"X", {best}}, {"Values", {values}}};
  AttributeMap attributes = {{"axis", axis}};
  const DDim dims = node.DimsOf(x);
  if (dims.rank_known() && dims.at(static_cast<int>(axis)) >= 0) {
    attributes["depth"] = dims.at(static_cast<int>(axis));
  } else {
    const std::string shape = node.Unary("shape", x);
    inputs.emplace_back("Depth",
                        ArgVars{node.Gather({shape, node.Vector({axis})})});
  }
  return FinishOrAppend(node, last, "one_hot", inputs, attributes);
}

void Hardmax1(Node& node) {
  ByRows(node, [&node](const std::string& x, int64_t axis, bool last) {
    return HardmaxOf(node, x, axis, last);
  });
}

void Hardmax13(Node& node) {
  const int rank = RankOf(node, 0);
  HardmaxOf(node, node.In(0), AxisOf(node.attributes().Int("axis", -1), rank),
            true);
}

// Divides X by its norm along the axis; 0 if the norm is 0.
void LpNormalization(Node& node) {
  const int64_t p = node.attributes().Int("p", 2);
  SLUICE_ENFORCE(p == 1 || p == 2, ErrorCode::kInvalidArgument, "onnx.lp_norm",
                 "attribute p is {}; expected 1 or 2", p);
  const DType dtype = node.TypeOf(0);
  const std::string norm = node.Unary(
      p == 1 ? "reduce_l1" : "reduce_l2", node.In(0),
      {{"dim", Ints{node.attributes().Int("axis", -1)}}, {"keep_dim", true}});
  const std::string zero = node.Binary("equal", {norm, node.Number(0, dtype)});
  const std::string divisor = node.Where({zero, node.Number(1, dtype), norm});
  node.FinishBinary("elementwise_div", {node.In(0), divisor});
}

// Scale or bias, input `index`, expanded to the size of a row of X (the dims
// from `axis` on); "" if it has another size and that of the row is unknown.
std::string OfRow(Node& node, int index, int axis) {
  const DDim x = node.Dims(0), given = node.Dims(index);
  const Ints row(x.begin() + axis, x.end());
  const bool same =
      !given.rank_known() ||
      std::equal(given.begin(), given.end(), row.begin(), row.end(),
                 [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; });
  if (same) return node.In(index);
  if (std::count(row.begin(), row.end(), kUnknownDim) > 0) return "";
  return node.Unary("expand", node.In(index), {{"shape", row}});
}

constexpr std::pair<int, const char*> kScaleAndBias[] = {{1, "Scale"},
                                                         {2, "Bias"}};

// Outputs of an op that normalizes rows, after Y, and the shape that the node
// has for them; "" if it does not have them.
struct NormalizedRows {
  Names more;
  std::string shape = {};
};

// FinishRows for sizes that are known only when the model runs: X as a matrix.
NormalizedRows FinishLateRows(Node& node,
                              const char* op,
                              AttributeMap attributes,
                              const Names& more) {
  const int64_t axis = node.attributes().Int("axis", -1);
  const std::string shape = node.Unary("shape", node.In(0));
  const std::string before = node.Slice(shape, 0, axis),
                    row = node.Slice(shape, axis, INT64_MAX);
  const auto with_shape = [](const std::string& x, const std::string& sizes) {
    return Inputs{{"X", {x}}, {"Shape", {sizes}}};
  };
  ArgVars sizes;
  for (const std::string& dims : {before, row}) {
    sizes.push_back(node.Reshape(node.Unary("reduce_prod", dims), {1}));
  }
  Inputs inputs = {
      {"X",
       {node.Append("reshape", with_shape(node.In(0), node.Concat(sizes)))}}};
  for (const auto& [index, name] : kScaleAndBias) {
    if (!node.HasInput(index)) continue;
    const std::string whole =
        node.Append("expand", with_shape(node.In(index), row));
    inputs.push_back({name, {node.Reshape(whole, {-1})}});
  }
  Names arguments = more;
  arguments.insert(arguments.begin(), "Y");
  attributes["begin_norm_axis"] = int64_t{1};
  Names results =
      node.AppendAll(op, std::move(inputs), std::move(attributes), arguments);
  node.Finish("reshape", with_shape(results[0], shape));
  results.erase(results.begin());
  if (!node.HasOutput(1) && !node.HasOutput(2)) return {results};
  const std::string ones = node.Append(
      "expand", with_shape(node.Vector({1}), node.Unary("shape", row)));
  return {results, node.Concat({before, ones})};
}

// Normalizes the rows of X, the dims from attribute axis on, by `op`, which has
// these outputs after Y.
NormalizedRows FinishRows(Node& node, const char* op, const Names& more) {
  // Sums are always computed in float64.
  node.attributes().Ignore("stash_type");
  AttributeMap attributes = {
      {"epsilon", node.attributes().Float("epsilon", 1e-5)}};
  const DDim x = node.Dims(0);
  if (!x.rank_known()) return FinishLateRows(node, op, attributes, more);
  const auto axis =
      static_cast<int>(AxisOf(node.attributes().Int("axis", -1), x.rank()));
  Ints shape(x.begin(), x.end());
  std::fill(shape.begin() + axis, shape.end(), 1);
  bool late = std::count(shape.begin(), shape.end(), kUnknownDim) > 1 &&
              (node.HasOutput(1) || node.HasOutput(2));
  Inputs inputs = {{"X", {node.In(0)}}};
  for (const auto& [index, name] : kScaleAndBias) {
    if (!node.HasInput(index)) continue;
    inputs.push_back({name, {OfRow(node, index, axis)}});
    late = late || inputs.back().second[0].empty();
  }
  if (late) return FinishLateRows(node, op, attributes, more);
  attributes["begin_norm_axis"] = int64_t{axis};
  const Names results = node.FinishWith(op, inputs, attributes, "Y", more);
  if (!node.HasOutput(1) && !node.HasOutput(2)) return {results};
  return {results, node.Vector(shape)};
}

// The moments are float32 for every dtype of X.
void LayerNormalization(Node& node) {
  const NormalizedRows rows =
      FinishRows(node, "layer_norm", {"Mean", "Variance"});
  for (int i = 0; i < 2; ++i) {
    if (!node.HasOutput(i + 1)) continue;
    std::string moments = rows.more[static_cast<size_t>(i)];
    if (i == 1) {
      const double epsilon = node.attributes().Float("epsilon", 1e-5);
      moments = node.Unary("rsqrt",
                           node.Unary("scale", moments, {{"bias", epsilon}}));
    }
    node.FinishOutput(i + 1, "reshape",
                      {{"X", {node.Cast(moments, DType::kFloat32)}},
                       {"Shape", {rows.shape}}});
  }
}

// Output 1, which only onnxruntime's SimplifiedLayerNormalization has, is one
// over the root.
void RmsNormalization(Node& node) {
  if (node.HasOutput(1)) {
    const int rank = RankOf(node, 0);
    Ints row;
    for (int64_t i = AxisOf(node.attributes().Int("axis", -1), rank); i < rank;
         ++i) {
      row.push_back(i);
    }
    FinishRowMoments(node, node.In(0), row, false,
                     node.attributes().Float("epsilon", 1e-5), {-1, 1});
  }
  FinishRows(node, "rms_norm", {});
}

// Expands the scale or bias of each group to its channels.
std::string OfChannels(Node& node, int index, int64_t groups) {
  const int64_t channels = RankOf(node, 0) < 2 ? 0 : node.Dims(0)[1];
  if (channels < 0) {
    Node::Unsupported(
        "the channels of its input {} are known only when the "
        "model runs",
        Printable(node.Dims(0)));
  }
  const std::string matrix =
      node.Unary("expand", node.Unsqueeze(node.In(index), {1}),
                 {{"shape", Ints{1, channels / groups}}});
  return node.Reshape(matrix, {-1});
}

void GroupNorm(Node& node, const std::string& scale, const std::string& bias) {
  node.Finish("group_norm",
              {{"X", {node.In(0)}}, {"Scale", {scale}}, {"Bias", {bias}}},
              {{"groups", node.attributes().NeededInt("num_groups")},
               {"epsilon", node.attributes().Float("epsilon", 1e-5)}},
              "Y");
}

// In opset 18, scale and bias are for each group.
void GroupNormalization18(Node& node) {
  const int64_t groups = node.attributes().NeededInt("num_groups");
  // The op itself raises for this.
  if (groups < 1) return GroupNorm(node, node.In(1), node.In(2));
  GroupNorm(node, OfChannels(node, 1, groups), OfChannels(node, 2, groups));
}

void GroupNormalization21(Node& node) {
  node.attributes().Ignore("stash_type");
  GroupNorm(node, node.In(1), node.In(2));
}

// onnxruntime's, of images [N, H, W, C] or [N, C, H, W], with an activation.
// SkipGroupNorm normalises the sum with an image or a vector for each image
// (input 3) and a bias (input 4), and output 1 is the sum.
void GroupNormOfImages(Node& node) {
  Attributes& attributes = node.attributes();
  const bool last = attributes.Flag("channels_last", true);
  const int64_t activation = attributes.NeededInt("activation");
  SLUICE_ENFORCE(activation == 0 || activation == 1,
                 ErrorCode::kInvalidArgument, "onnx.group_norm_activation",
                 "attribute activation is {}; expected 0 or 1", activation);
  const Ints image = last ? Ints{1, 2} : Ints{2, 3};
  std::string x = node.In(0);
  if (node.HasInput(3)) {
    std::string skip = node.In(3);
    if (RankOf(node, 3) == 2) skip = node.Unsqueeze(skip, image);
    x = node.Binary("elementwise_add", {x, skip});
  }
  if (node.HasInput(4)) {
    const std::string bias =
        node.Reshape(node.In(4), last ? Ints{-1} : Ints{-1, 1, 1});
    x = node.Binary("elementwise_add", {x, bias});
  }
  if (node.HasOutput(1)) node.FinishOutput(1, "assign", {{"X", {x}}});
  const DType dtype = node.TypeOf(0);
  std::string y = node.Append("group_norm",
                              {{"X", {last ? ChannelsFirst(node, x) : x}},
                               {"Scale", {node.Cast(node.In(1), dtype)}},
                               {"Bias", {node.Cast(node.In(2), dtype)}}},
                              {{"groups", attributes.NeededInt("groups")},
                               {"epsilon", attributes.Float("epsilon", 1e-5)}},
                              "Y");
  if (activation == 1) y = node.Unary("swish", y);
  if (!last) return node.FinishUnary("assign", y);
  node.FinishUnary("transpose", y, {{"axis", ChannelsLastOrder(4)}});
}

// (X - mean) / (deviation + 1e-9) over some dims, which are transposed to the
// end. The root of variance + 1e-18 equals deviation + 1e-9 to float precision.
void MeanVarianceNormalization(Node& node) {
  const int rank = RankOf(node, 0);
  Ints axes = node.attributes().Ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  std::vector<bool> normalized(static_cast<size_t>(rank));
  for (const int64_t axis : axes) {
    normalized[static_cast<size_t>(AxisOf(axis, rank))] = true;
  }
  Ints order;
  for (const bool last : {false, true}) {
    for (int axis = 0; axis < rank; ++axis) {
      if (normalized[static_cast<size_t>(axis)] == last) order.push_back(axis);
    }
  }
  Ints back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  const int64_t kept = std::count(normalized.begin(), normalized.end(), false);
  const std::string y =
      node.Append("layer_norm", {{"X", {node.Transpose(node.In(0), order)}}},
                  {{"begin_norm_axis", kept}, {"epsilon", 1e-18}}, "Y");
  node.FinishUnary("transpose", y, {{"axis", back}});
}

}  // namespace

// Computed in float64, in which squares of float32 are finite.
void FinishRowMoments(Node& node,
                      const std::string& x,
                      const Ints& dims,
                      bool centered,
                      double epsilon,
                      const MomentOutputs& outputs) {
  const auto mean_of = [&](const std::string& values) {
    return node.Unary("reduce_mean", values,
                      {{"dim", dims}, {"keep_dim", true}});
  };
  const auto finish = [&](int index, const std::string& values) {
    if (index < 0 || !node.HasOutput(index)) return;
    node.FinishOutput(index, "cast", {{"X", {values}}},
                      {{"dtype", DType::kFloat32}});
  };
  std::string row = node.Cast(x, DType::kFloat64);
  const std::string mean = mean_of(row);
  finish(outputs.mean, mean);
  if (centered) row = node.Binary("elementwise_sub", {row, mean});
  const std::string square = mean_of(node.Unary("square", row));
  const std::string sum = node.Unary("scale", square, {{"bias", epsilon}});
  finish(outputs.inverse, node.Unary("rsqrt", sum));
}

// InstanceNormalization and LRN use their schemas.
const HandlerTable kNormHandlers = {
    {"BatchNormalization", 7, BatchNormalization7},
    {"BatchNormalization", 9, BatchNormalization},
    {"BatchNormalization", 14, BatchNormalization14},
    {"GroupNormalization", 18, GroupNormalization18},
    {"GroupNormalization", 21, GroupNormalization21},
    {"Hardmax", 1, Hardmax1},
    {"Hardmax", 13, Hardmax13},
    {"LayerNormalization", 1, LayerNormalization},  // onnxruntime's before 17
    {"LogSoftmax Softmax", 1, Softmax1},
    {"LogSoftmax Softmax", 13, nullptr},
    {"LpNormalization", 1, LpNormalization},
    {"MeanVarianceNormalization", 9, MeanVarianceNormalization},
    {"RMSNormalization", 23, RmsNormalization},
    {"com.microsoft.GroupNorm com.microsoft.SkipGroupNorm", 1,
     GroupNormOfImages},
    // onnxruntime's, which its tools write in either domain.
    {"SimplifiedLayerNormalization "
     "com.microsoft.SimplifiedLayerNormalization",
     1, RmsNormalization},
};

}  // namespace sluice::onnx
