#include "benchmarks/cuda/bandwidth_cases.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "sluice/framework/op/registry.h"

namespace sluice::bench {

using Ints = std::vector<int64_t>;
using Cases = std::vector<BandwidthCase>;

namespace {

// The shapes for one size. All have the same number of elements, except tables.
struct Shapes {
  DDim matrix;    // rows of 64 to 1,024 columns
  DDim images;    // [N, C, H, W]
  int64_t rows;   // of a table with 64 columns
  int64_t total;  // elements

  explicit Shapes(int64_t bytes) {
    total = bytes / 4;
    const int64_t columns = total >= 1 << 18 ? 1024 : 64;
    matrix = {total / columns, columns};
    // 4 KiB: 1x16x8x8, 1 MiB: 8x32x32x32, 256 MiB: 64x64x128x128.
    const int64_t side = total >= 1 << 26 ? 128 : total >= 1 << 18 ? 32 : 8;
    const int64_t channels = side == 128 ? 64 : side == 32 ? 32 : 16;
    images = {total / (side * side * channels), channels, side, side};
    rows = total / 64;
  }
};

constexpr Fill kSigned{};
constexpr Fill kPositive{Fill::Kind::kUniform, 0.5, 1.5, 1};
constexpr Fill kAboveOne{Fill::Kind::kUniform, 1.5, 2.5, 1};

Fill IndexBelow(int64_t bound) {
  return {Fill::Kind::kIndex, 0, static_cast<double>(bound), 1};
}

Cases One(OpSpec spec, double bytes = 0) {
  return {{"", std::move(spec), bytes}};
}

// An op whose tensors all have the same shape.
OpSpec Alike(const std::string& op,
             const std::vector<std::string>& arguments,
             const DDim& dims,
             AttributeMap attributes = {},
             const Fill& fill = kSigned) {
  OpSpec spec{op, {}, std::move(attributes)};
  for (const std::string& argument : arguments) {
    spec.inputs.push_back({argument, dims, fill});
  }
  return spec;
}

Cases Elementwise(const std::string& op, const Shapes& at) {
  return One({op, {{"X", at.matrix}, {"Y", at.matrix, kPositive}}});
}

Cases Logarithmic(const std::string& op, const Shapes& at) {
  return One(Alike(op, {"X"}, at.matrix, {}, kPositive));
}

Cases AboveOne(const std::string& op, const Shapes& at) {
  return One(Alike(op, {"X"}, at.matrix, {}, kAboveOne));
}

// Negative numbers have no real powers.
Cases Power(const std::string& op, const Shapes& at) {
  return One({op, {{"X", at.matrix, kPositive}, {"Y", at.matrix}}});
}

Cases XLogY(const std::string& op, const Shapes& at) {
  return One({op, {{"X", at.matrix}, {"Y", at.matrix, kPositive}}});
}

Cases Made(const std::string& op, const Shapes& at) {
  AttributeMap attributes = {
      {"shape", Ints(at.matrix.begin(), at.matrix.end())}};
  if (op == "fill_constant") attributes["value"] = 3.0;
  return One({op, {}, std::move(attributes)});
}

Cases AverageEmbeddingMask(const std::string& op, const Shapes& at) {
  const int64_t side = at.images[2];
  const int64_t batch = at.total / (side * side * 64);
  const DDim embedding = {std::max<int64_t>(batch, 1), side, side,
                          batch > 0 ? 64 : at.total / (side * side)};
  return One({op,
              {{"Embedding", embedding},
               {"Mask",
                {embedding[0], 4, side, 2},
                {Fill::Kind::kRuns, 0, static_cast<double>(side), 1},
                DType::kInt64}}});
}

Cases BatchNorm(const std::string& op, const Shapes& at) {
  const DDim channels = {at.images[1]};
  return One({op,
              {{"X", at.images},
               {"Scale", channels, kPositive},
               {"Bias", channels},
               {"Mean", channels},
               {"Variance", channels, kPositive}}});
}

Cases BiasAdd(const std::string& op, const Shapes& at) {
  return One({op, {{"X", at.images}, {"Bias", {at.images[1]}}}});
}

Cases Cast(const std::string& op, const Shapes& at) {
  return One(Alike(op, {"X"}, at.matrix, {{"dtype", DType::kFloat64}}));
}

Cases Concat(const std::string& op, const Shapes& at) {
  const DDim half = {at.matrix[0], at.matrix[1] / 2};
  return One(Alike(op, {"X", "X"}, half, {{"axis", int64_t{1}}}));
}

// Crops the box in the middle; the kernel reads nothing else.
Cases Crop(const std::string& op, const Shapes& at) {
  const int64_t rows = at.matrix[0], columns = at.matrix[1];
  return One(Alike(op, {"X"}, at.matrix,
                   {{"offsets", Ints{rows / 4, columns / 4}},
                    {"shape", Ints{rows / 2, columns / 2}}}),
             2.0 * static_cast<double>(at.total));
}

// Every row is read once on average.
Cases Gather(const std::string& op, const Shapes& at) {
  return One({op,
              {{"X", {at.rows, 64}},
               {"Index", {at.rows}, IndexBelow(at.rows), DType::kInt64}}});
}

Cases LookupTable(const std::string& op, const Shapes& at) {
  return One({op,
              {{"W", {at.rows, 64}},
               {"Ids", {at.rows, 1}, IndexBelow(at.rows), DType::kInt64}}});
}

// The output has twice as many rows and columns.
Cases Resize(const std::string& op, const Shapes& at) {
  DDim small = at.images;
  small[2] /= 2;
  small[3] /= 2;
  const std::vector<double> scales = {1, 1, 2, 2};
  return {{"nearest", Alike(op, {"X"}, small, {{"scales", scales}})},
          {"linear",
           Alike(op, {"X"}, small, {{"scales", scales}, {"mode", "linear"}})}};
}

Cases MaxOut(const std::string& op, const Shapes& at) {
  return One(Alike(op, {"X"}, at.images, {{"groups", int64_t{2}}}));
}

Cases Pool2d(const std::string& op, const Shapes& at) {
  Cases cases;
  for (const char* type : {"max", "avg"}) {
    cases.push_back({type, Alike(op, {"X"}, at.images,
                                 {{"ksize", Ints{2, 2}},
                                  {"strides", Ints{2, 2}},
                                  {"pooling_type", std::string(type)}})});
  }
  return cases;
}

Cases Quantize(const std::string& op, const Shapes& at) {
  return One(Alike(op, {"X"}, at.matrix, {{"min", -1.0}, {"max", 1.0}}));
}

Cases ReduceSum(const std::string& op, const Shapes& at) {
  return {{"dim0", Alike(op, {"X"}, at.matrix, {{"dim", Ints{0}}})},
          {"dim1", Alike(op, {"X"}, at.matrix, {{"dim", Ints{1}}})},
          {"all", Alike(op, {"X"}, at.matrix)}};
}

Cases Reshape(const std::string& op, const Shapes& at) {
  return One(Alike(op, {"X"}, at.matrix, {{"shape", Ints{-1}}}));
}

Cases Softmax(const std::string& op, const Shapes& at) {
  return {{"", Alike(op, {"X"}, at.matrix)},
          {"axis1", Alike(op, {"X"}, at.images, {{"axis", int64_t{1}}})}};
}

Cases CrossEntropy(const std::string& op, const Shapes& at) {
  return One({op,
              {{"Logits", at.matrix},
               {"Label",
                {at.matrix[0], 1},
                IndexBelow(at.matrix[1]),
                DType::kInt64}}});
}

Cases Sum(const std::string& op, const Shapes& at) {
  return One(Alike(op, {"X", "X", "X"}, at.matrix));
}

Cases TopK(const std::string& op, const Shapes& at) {
  return One(Alike(op, {"X"}, at.matrix, {{"k", int64_t{5}}}));
}

Cases Transpose(const std::string& op, const Shapes& at) {
  return {{"", Alike(op, {"X"}, at.matrix, {{"axis", Ints{1, 0}}})},
          {"nhwc", Alike(op, {"X"}, at.images, {{"axis", Ints{0, 2, 3, 1}}})}};
}

// Param and Grad, the state between steps, and the learning rate.
Cases Update(const std::string& op, const Shapes& at) {
  const auto& schema = Registry::Global().Schema(op);
  OpSpec spec{op, {}, {}};
  for (const auto& input : schema.inputs()) {
    if (input.traits.optional) continue;
    const bool scalar = input.traits.host || input.name.ends_with("Pow");
    // Second moments are not negative, and powers of beta are below 1.
    const Fill fill = input.name == "Grad" || input.name == "Param"
                          ? kSigned
                          : Fill{Fill::Kind::kUniform, 0.1, 0.9, 1};
    spec.inputs.push_back({input.name, scalar ? DDim{1} : at.matrix, fill});
  }
  return One(std::move(spec));
}

// Tensors of one shape, if the schema accepts them.
Cases Generic(const std::string& op, const Shapes& at) {
  const auto& schema = Registry::Global().Schema(op);
  std::vector<std::string> arguments;
  for (const auto& input : schema.inputs()) {
    if (!input.traits.optional) arguments.push_back(input.name);
  }
  const auto& attributes = schema.attributes();
  const bool complete =
      std::all_of(attributes.begin(), attributes.end(),
                  [](const auto& each) { return each.default_value; });
  if (arguments.empty() || !complete) {
    Raise(ErrorCode::kUnimplemented, "bench.no_case",
          "{} needs a description in "
          "benchmarks/cuda/bandwidth_cases.cc",
          op);
  }
  return One(Alike(op, arguments, at.matrix));
}

using Make = Cases (*)(const std::string& op, const Shapes& at);

const std::map<std::string, Make>& Described() {
  static const std::map<std::string, Make> kDescribed = {
      {"acosh", &AboveOne},
      {"average_embedding_mask", &AverageEmbeddingMask},
      {"batch_norm", &BatchNorm},
      {"bias_add", &BiasAdd},
      {"cast", &Cast},
      {"concat", &Concat},
      {"crop", &Crop},
      {"discriminative_loss", &AverageEmbeddingMask},
      {"elementwise_add", &Elementwise},
      {"elementwise_div", &Elementwise},
      {"elementwise_mul", &Elementwise},
      {"elementwise_pow", &Power},
      {"elementwise_sub", &Elementwise},
      {"fill_constant", &Made},
      {"gather", &Gather},
      {"gaussian_random", &Made},
      {"log", &Logarithmic},
      {"lookup_table", &LookupTable},
      {"maxout", &MaxOut},
      {"pool2d", &Pool2d},
      {"quantize_and_dequantize", &Quantize},
      {"reduce_sum", &ReduceSum},
      {"reshape", &Reshape},
      {"resize", &Resize},
      {"rsqrt", &Logarithmic},
      {"softmax", &Softmax},
      {"softmax_with_cross_entropy", &CrossEntropy},
      {"sqrt", &Logarithmic},
      {"sum", &Sum},
      {"top_k", &TopK},
      {"transpose", &Transpose},
      {"uniform_random", &Made},
      {"xlogy", &XLogY},
  };
  return kDescribed;
}

}  // namespace

std::vector<BandwidthCase> BandwidthCases(const std::string& op,
                                          int64_t bytes) {
  const Shapes shapes(bytes);
  const auto found = Described().find(op);
  const auto& schema = Registry::Global().Schema(op);
  Cases cases = found != Described().end() ? found->second(op, shapes)
                : schema.FindInput("LearningRate") != nullptr
                    ? Update(op, shapes)
                    : Generic(op, shapes);
  for (BandwidthCase& each : cases) {
    // All inputs get different values.
    uint32_t seed = 1;
    for (InputSpec& input : each.spec.inputs) {
      input.fill.seed = seed++;
    }
  }
  return cases;
}

bool IsArithmetic(const std::string& op) {
  static const std::set<std::string> kArithmetic = {
      "conv2d", "conv2d_transpose", "matmul", "mul", "manhattan_distance"};
  return kArithmetic.contains(op);
}

}  // namespace sluice::bench
