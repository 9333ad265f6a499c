#include <cstdint>
#include <string>
#include <utility>

#include "sluice/onnx/import/handlers.h"

// Operators of onnxruntime that its optimizer makes of several of ONNX.
namespace sluice::onnx {

namespace {

// x plus an input that may be omitted.
std::string Plus(Node& node, const std::string& x, int index) {
  if (!node.HasInput(index)) return x;
  return node.Binary("elementwise_add", {x, node.In(index)});
}

// Gelu of the sum with a bias, in its tanh form or not.
template <bool kTanh>
void BiasGelu(Node& node) {
  node.FinishUnary("gelu", Plus(node, node.In(0), 1), {{"approximate", kTanh}});
}

void QuickGelu(Node& node) {
  node.FinishUnary("swish", node.In(0),
                   {{"beta", node.attributes().Float("alpha", 1.702)}});
}

void FusedMatMul(Node& node) {
  Attributes& attributes = node.attributes();
  for (const char* name : {"transBatchA", "transBatchB"}) {
    if (attributes.Int(name, 0) == 0) continue;
    Node::Unsupported("attribute {}: batches between rows and columns", name);
  }
  node.FinishBinary("matmul", {node.In(0), node.In(1)},
                    {{"alpha", attributes.Float("alpha", 1)},
                     {"transpose_X", attributes.Int("transA", 0) != 0},
                     {"transpose_Y", attributes.Int("transB", 0) != 0}});
}

// Finishes with the activation that the node names, with its parameters.
void FinishActivation(Node& node,
                      const std::string& x,
                      const Doubles& numbers) {
  struct Row {
    const char *name, *op, *first = nullptr, *second = nullptr;
  };
  constexpr Row kRows[] = {
      {"", "assign"},
      {"Celu", "celu", "alpha"},
      {"Clip", "clip", "min", "max"},
      {"Elu", "elu", "alpha"},
      {"HardSigmoid", "hard_sigmoid", "slope", "offset"},
      {"LeakyRelu", "leaky_relu", "alpha"},
      {"Relu", "relu"},
      {"Selu", "selu", "alpha", "scale"},
      {"Sigmoid", "sigmoid"},
      {"Softplus", "softplus"},
      {"Softsign", "softsign"},
      {"Tanh", "tanh"},
      {"ThresholdedRelu", "thresholded_relu", "threshold"}};
  const std::string name = node.attributes().String("activation", "");
  for (const Row& row : kRows) {
    if (name != row.name) continue;
    AttributeMap given;
    if (row.first && !numbers.empty()) given[row.first] = numbers[0];
    if (row.second && numbers.size() > 1) given[row.second] = numbers[1];
    return node.FinishUnary(row.op, x, given);
  }
  Node::Unsupported("its activation {}", Shown(name));
}

// A convolution of onnxruntime, plus input 3, with an activation.
void FusedConv(Node& node) {
  ArgVars inputs = {node.In(0), node.In(1)};
  if (node.HasInput(2)) inputs.push_back(node.In(2));
  const std::string sum = Plus(node, node.AppendOperator("Conv", inputs), 3);
  FinishActivation(node, sum, node.attributes().Floats("activation_params"));
}

void FusedGemm(Node& node) {
  ArgVars inputs = {node.In(0), node.In(1)};
  if (node.HasInput(2)) inputs.push_back(node.In(2));
  const std::string sum = node.AppendOperator("Gemm", inputs);
  Doubles numbers;
  for (const char* name :
       {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (!node.attributes().Has(name)) continue;
    numbers.push_back(node.attributes().Float(name, 0));
  }
  FinishActivation(node, sum, numbers);
}

// Normalises the last dim of x; `bias` may be omitted.
void FinishNorm(
    Node& node, const char* op, const std::string& x, int scale, int bias) {
  const int rank = node.DimsOf(x).rank();
  if (rank < 0) Node::Unsupported("the rank of its input is unknown");
  Inputs inputs = {{"X", {x}}, {"Scale", {node.In(scale)}}};
  if (bias > 0 && node.HasInput(bias)) {
    inputs.push_back({"Bias", {node.In(bias)}});
  }
  node.Finish(op, std::move(inputs),
              {{"begin_norm_axis", int64_t{rank - 1}},
               {"epsilon", node.attributes().Float("epsilon", 1e-12)}},
              "Y");
}

// Normalises the sum of X, a skipped X and a bias. Outputs 1 and 2 are moments,
// which only training reads; output 3 is the sum.
template <bool kRms>
void SkipNorm(Node& node) {
  if (node.HasOutput(1) || node.HasOutput(2)) {
    Node::Unsupported("its outputs 1 and 2 (moments of rows)");
  }
  const std::string sum = Plus(node, Plus(node, node.In(0), 1), kRms ? 3 : 4);
  FinishNorm(node, kRms ? "rms_norm" : "layer_norm", sum, 2, kRms ? -1 : 3);
  if (node.HasOutput(3)) node.FinishOutput(3, "assign", {{"X", {sum}}});
}

// Rows of tables by the ids of words, their places and segments, normalised.
// Output 1 are the numbers of unmasked words, output 2 is the sum.
void EmbedLayerNormalization(Node& node) {
  const auto rows = [&node](int table, const std::string& ids) {
    return node.Append("gather", {{"X", {node.In(table)}}, {"Index", {ids}}});
  };
  std::string sum = rows(2, node.In(0));
  std::string places;
  if (node.HasInput(8)) {
    places = node.In(8);
  } else {
    const std::string length = node.Unary(
        "shape", node.In(0), {{"start", int64_t{1}}, {"end", int64_t{2}}});
    places = node.Append("range", {{"Start", {node.Whole(0)}},
                                   {"End", {length}},
                                   {"Step", {node.Whole(1)}}});
  }
  sum = node.Binary("elementwise_add", {sum, rows(3, places)});
  if (node.HasInput(1)) {
    sum = node.Binary("elementwise_add", {sum, rows(4, node.In(1))});
  }
  FinishNorm(node, "layer_norm", sum, 5, 6);
  const bool counted = node.attributes().Int("mask_index_type", 1) != 0;
  if (node.HasOutput(1)) {
    if (!node.HasInput(7)) Node::Unsupported("its output 1 without a mask");
    node.FinishOutput(
        1, counted ? "reduce_sum" : "assign", {{"X", {node.In(7)}}},
        counted ? AttributeMap{{"dim", Ints{1}}} : AttributeMap());
  }
  if (node.HasOutput(2)) node.FinishOutput(2, "assign", {{"X", {sum}}});
}

// The inputs of RotaryEmbedding.
enum : int { kX, kCos, kSin, kPositions };

// Elements `start`, `start` + `step`, ... before `end` of the last dim.
std::string Part(Node& node,
                 const std::string& x,
                 int64_t start,
                 int64_t end,
                 int64_t step = 1) {
  return node.Unary("slice", x,
                    {{"starts", Ints{start}},
                     {"ends", Ints{end}},
                     {"axes", Ints{-1}},
                     {"steps", Ints{step}}});
}

// Computes a * x + sign * b * y.
std::string Rotated(Node& node,
                    const std::string& a,
                    const std::string& x,
                    const char* sum,
                    const std::string& b,
                    const std::string& y) {
  const std::string first = node.Binary("elementwise_mul", {a, x});
  const std::string second = node.Binary("elementwise_mul", {b, y});
  return node.Binary(sum, {first, second});
}

// Rotates pairs in the first `turned` elements of each head by the angles of
// their position. x is [batch, heads, sequence, size], or [batch, sequence,
// heads * size].
void RotaryEmbedding(Node& node) {
  const int rank = RankOf(node, kX);
  const int64_t heads = node.attributes().Int("num_heads", 0);
  const bool interleaved = node.attributes().Int("interleaved", 0) != 0;
  SLUICE_ENFORCE(rank == 4 || (rank == 3 && heads > 0),
                 ErrorCode::kInvalidArgument, "onnx.rotary_shape",
                 "its input has {} dims and num_heads is {}; expected 4 dims, "
                 "or 3 with num_heads",
                 rank, heads);
  std::string x = node.In(kX);
  if (rank == 3) {
    x = node.Unary("reshape", x, {{"shape", Ints{0, 0, heads, -1}}});
  }
  const int64_t size = node.SizeOf(x, 3);
  int64_t turned = node.attributes().Int("rotary_embedding_dim", 0);
  if (turned == 0) turned = size;
  if (turned < 0) {
    Node::Unsupported(
        "the size of its heads is known only when the model runs");
  }
  SLUICE_ENFORCE(turned % 2 == 0 && (size < 0 || turned <= size),
                 ErrorCode::kInvalidArgument, "onnx.rotary_size",
                 "{} elements of each head of {} are turned; expected pairs of "
                 "its elements",
                 turned, size);
  // Angles are [batch, sequence, turned / 2], with a dim of 1 for the heads.
  const auto angles = [&](int input) {
    std::string cache = node.In(input);
    if (node.HasInput(kPositions)) {
      cache = node.Append("gather",
                          {{"X", {cache}}, {"Index", {node.In(kPositions)}}});
    }
    return node.Unary("unsqueeze", cache, {{"axes", Ints{rank == 4 ? 1 : 2}}});
  };
  const std::string cos = angles(kCos), sin = angles(kSin);
  const int64_t half = turned / 2;
  const std::string a =
      interleaved ? Part(node, x, 0, turned, 2) : Part(node, x, 0, half);
  const std::string b =
      interleaved ? Part(node, x, 1, turned, 2) : Part(node, x, half, turned);
  std::string real = Rotated(node, cos, a, "elementwise_sub", sin, b);
  std::string imaginary = Rotated(node, sin, a, "elementwise_add", cos, b);
  const AttributeMap last = {{"axis", int64_t{-1}}};
  if (interleaved) {
    const AttributeMap pairs = {{"axes", Ints{-1}}};
    real = node.Unary("unsqueeze", real, pairs);
    imaginary = node.Unary("unsqueeze", imaginary, pairs);
  }
  std::string result = node.Append("concat", {{"X", {real, imaginary}}}, last);
  if (interleaved) {
    result = node.Unary("reshape", result, {{"shape", Ints{0, 0, 0, turned}}});
  }
  if (turned != size) {
    result = node.Append(
        "concat", {{"X", {result, Part(node, x, turned, INT64_MAX)}}}, last);
  }
  if (rank == 4) return node.FinishUnary("assign", result);
  node.FinishUnary("reshape", result, {{"shape", Ints{0, 0, -1}}});
}

constexpr HandlerRow kFusedRows[] = {
    {"com.microsoft.BiasGelu", 1, BiasGelu<false>},
    {"com.microsoft.EmbedLayerNormalization", 1, EmbedLayerNormalization},
    {"com.microsoft.FastGelu", 1, BiasGelu<true>},
    {"com.microsoft.FusedConv", 1, FusedConv},
    {"com.microsoft.FusedGemm", 1, FusedGemm},
    {"com.microsoft.FusedMatMul", 1, FusedMatMul},
    {"com.microsoft.Gelu", 1, BiasGelu<false>},
    {"com.microsoft.QuickGelu", 1, QuickGelu},
    {"com.microsoft.SkipLayerNormalization", 1, SkipNorm<false>},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 1, SkipNorm<true>},
    {"com.microsoft.TransposeMatMul", 1, FusedMatMul},
    {"RotaryEmbedding", 23, RotaryEmbedding},
};

}  // namespace

const HandlerTable kFusedHandlers = kFusedRows;

}  // namespace sluice::onnx
