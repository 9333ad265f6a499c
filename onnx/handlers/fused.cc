#include <cstdint>
#include <string>
#include <utility>

#include "sluice/onnx/handlers/row_moments.h"
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
void BiasGelu(Node& node) {
  node.FinishUnary("gelu", Plus(node, node.In(0), 1),
                   {{"approximate", node.type() == "FastGelu"}});
}

void QuickGelu(Node& node) {
  node.FinishUnary("swish", node.In(0),
                   {{"beta", node.attributes().Float("alpha", 1.702)}});
}

// X plus a bias plus an image.
void SumOfThree(Node& node) {
  node.FinishBinary("elementwise_add", {Plus(node, node.In(0), 1), node.In(2)});
}

// Each half of the last dim, plus a bias: the first times the gelu of the
// second.
void BiasSplitGelu(Node& node) {
  const std::string sum = Plus(node, node.In(0), 1);
  const int64_t size = RankOf(node, 0) < 1 ? 1 : node.Dims(0).at(-1);
  if (size < 0) {
    Node::Unsupported(
        "the size of the last dim of its input is known only when the model "
        "runs");
  }
  SLUICE_ENFORCE(size % 2 == 0, ErrorCode::kInvalidArgument, "onnx.split_gelu",
                 "its input {} has a last dim of {}; expected two halves",
                 Printable(node.Dims(0)), size);
  const std::string gate =
      node.Unary("gelu", node.Slice(sum, size / 2, size, {-1}));
  node.FinishBinary("elementwise_mul",
                    {node.Slice(sum, 0, size / 2, {-1}), gate});
}

// A factor whose rows come before its batches, in the usual order.
std::string BatchesFirst(Node& node, int index, const char* attribute) {
  if (!node.attributes().Flag(attribute)) return node.In(index);
  const int rank = RankOf(node, index);
  if (rank < 3) return node.In(index);
  Ints order;
  for (int64_t axis = 1; axis < rank - 1; ++axis) {
    order.push_back(axis);
  }
  order.insert(order.end(), {0, rank - 1});
  return node.Transpose(node.In(index), order);
}

Node::Operands Factors(Node& node) {
  return {BatchesFirst(node, 0, "transBatchA"),
          BatchesFirst(node, 1, "transBatchB")};
}

// The attributes of their product. A vector is not transposed.
AttributeMap ProductAttributes(Node& node) {
  Attributes& attributes = node.attributes();
  const auto turned = [&](const char* name, int index) {
    return attributes.Flag(name) && node.Dims(index).rank() != 1;
  };
  return {{"alpha", attributes.Float("alpha", 1)},
          {"transpose_X", turned("transA", 0)},
          {"transpose_Y", turned("transB", 1)}};
}

void FusedMatMul(Node& node) {
  node.FinishBinary("matmul", Factors(node), ProductAttributes(node));
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
      {"HardSwish", "hard_swish"},
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

// ONNX's operator of this type of inputs 0 to 2.
std::string WithBias(Node& node, const char* type) {
  ArgVars inputs = {node.In(0), node.In(1)};
  if (node.HasInput(2)) inputs.push_back(node.In(2));
  return node.AppendOperator(type, inputs);
}

// A convolution of onnxruntime, plus input 3, with an activation.
void FusedConv(Node& node) {
  const std::string sum = Plus(node, WithBias(node, "Conv"), 3);
  FinishActivation(node, sum, node.attributes().Floats("activation_params"));
}

// The parameters of an activation after a product.
Doubles ActivationNumbers(Node& node) {
  Doubles numbers;
  for (const char* name :
       {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (!node.attributes().Has(name)) continue;
    numbers.push_back(node.attributes().Float(name, 0));
  }
  return numbers;
}

void FusedGemm(Node& node) {
  const std::string sum = WithBias(node, "Gemm");
  FinishActivation(node, sum, ActivationNumbers(node));
}

void FusedMatMulActivation(Node& node) {
  node.attributes().Ignore("activation_axis");  // of Softmax, which is refused
  const std::string product =
      node.Binary("matmul", Factors(node), ProductAttributes(node));
  FinishActivation(node, product, ActivationNumbers(node));
}

void GemmFastGelu(Node& node) {
  const std::string product = node.Binary("matmul", {node.In(0), node.In(1)});
  node.FinishUnary("gelu", Plus(node, product, 2), {{"approximate", true}});
}

// An input that may be omitted; "" then.
std::string Optional(Node& node, int index) {
  return node.HasInput(index) ? node.In(index) : "";
}

// Normalises the last dim of x; `bias` may be "".
void FinishNorm(Node& node,
                const char* op,
                const std::string& x,
                const std::string& scale,
                const std::string& bias) {
  const int rank = node.DimsOf(x).rank();
  if (rank < 0) Node::Unsupported("the rank of its input is unknown");
  Inputs inputs = {{"X", {x}}, {"Scale", {scale}}};
  if (!bias.empty()) inputs.push_back({"Bias", {bias}});
  node.Finish(op, std::move(inputs),
              {{"begin_norm_axis", int64_t{rank - 1}},
               {"epsilon", node.attributes().Float("epsilon", 1e-12)}},
              "Y");
}

// Normalises the sum of X, a skipped X and a bias. Outputs 1 and 2 are the mean
// of each row and one over its deviation; output 3 is the sum.
void SkipNorm(Node& node) {
  const bool rms = node.type() == "SkipSimplifiedLayerNormalization";
  const std::string sum = Plus(node, Plus(node, node.In(0), 1), rms ? 3 : 4);
  FinishNorm(node, rms ? "rms_norm" : "layer_norm", sum, node.In(2),
             rms ? "" : Optional(node, 3));
  if (rms && node.HasOutput(1)) {
    Node::Unsupported("its output 1 (a mean, which its form does not have)");
  }
  if (node.HasOutput(1) || node.HasOutput(2)) {
    FinishRowMoments(node, sum, {-1}, !rms,
                     node.attributes().Float("epsilon", 1e-12), {1, 2});
  }
  if (node.HasOutput(3)) node.FinishOutput(3, "assign", {{"X", {sum}}});
}

// Output 1: how many ones the mask, input 7, has for each sequence of ids.
void FinishWordCounts(Node& node) {
  std::string words;
  if (node.HasInput(7)) {
    words = node.Binary("equal", {node.In(7), node.Number(1, node.TypeOf(7))});
    words = node.Cast(words, DType::kInt32);
  } else {
    words = node.Binary("elementwise_mul",
                        {node.In(0), node.Number(0, node.TypeOf(0))});
  }
  node.FinishOutput(1, "reduce_sum", {{"X", {words}}}, {{"dim", Ints{1}}});
}

// Rows of tables by the ids of words, their places and segments, normalised.
// Output 2 is the sum. In QEmbedLayerNormalization tables, scale and bias have
// one scale each from input 8 on, and then a zero point.
void EmbedLayerNormalization(Node& node) {
  const bool quantized = node.type() == "QEmbedLayerNormalization";
  const auto dequantized = [&](const std::string& x, int index) {
    if (!quantized || x.empty()) return x;
    return node.Append("dequantize_linear",
                       {{"X", {x}},
                        {"Scale", {node.Reshape(node.In(index + 6), {})}},
                        {"ZeroPoint", {node.Reshape(node.In(index + 11), {})}}},
                       {{"dtype", node.TypeOf(index + 6)}});
  };
  const auto rows = [&](int table, const std::string& ids) {
    return dequantized(node.Gather({node.In(table), ids}), table);
  };
  std::string sum = rows(2, node.In(0));
  const std::string places =
      !quantized && node.HasInput(8)
          ? node.In(8)
          : node.Count(
                node.Unary("shape", node.In(0),
                           {{"start", int64_t{1}}, {"end", int64_t{2}}}));
  sum = node.Binary("elementwise_add", {sum, rows(3, places)});
  if (node.HasInput(1)) {
    sum = node.Binary("elementwise_add", {sum, rows(4, node.In(1))});
  }
  FinishNorm(node, "layer_norm", sum, dequantized(node.In(5), 5),
             dequantized(Optional(node, 6), 6));
  // It only says of which shape output 1 is to be.
  node.attributes().Ignore("mask_index_type");
  if (node.HasOutput(1)) FinishWordCounts(node);
  if (node.HasOutput(2)) node.FinishOutput(2, "assign", {{"X", {sum}}});
}

}  // namespace

const HandlerTable kFusedHandlers = {
    {"com.microsoft.BiasGelu com.microsoft.FastGelu com.microsoft.Gelu", 1,
     BiasGelu},
    {"com.microsoft.BiasAdd", 1, SumOfThree},
    {"com.microsoft.BiasSplitGelu", 1, BiasSplitGelu},
    {"com.microsoft.EmbedLayerNormalization "
     "com.microsoft.QEmbedLayerNormalization",
     1, EmbedLayerNormalization},
    {"com.microsoft.FusedConv", 1, FusedConv},
    {"com.microsoft.FusedGemm", 1, FusedGemm},
    {"com.microsoft.FusedMatMul com.microsoft.TransposeMatMul", 1, FusedMatMul},
    {"com.microsoft.FusedMatMulActivation", 1, FusedMatMulActivation},
    {"com.microsoft.GemmFastGelu", 1, GemmFastGelu},
    {"com.microsoft.QuickGelu", 1, QuickGelu},
    {"com.microsoft.SkipLayerNormalization", 1, SkipNorm},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 1, SkipNorm},
};

}  // namespace sluice::onnx
