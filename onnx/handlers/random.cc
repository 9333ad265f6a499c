#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "sluice/onnx/import/handlers.h"

// Random numbers: others in each run, the same in each process. As in ONNX,
// they are not those of another implementation with this seed.
namespace sluice::onnx {
namespace {

// Attribute seed is any float.
int64_t SeedOf(Node& node) {
  const double seed = node.attributes().Float("seed", 0);
  return std::bit_cast<uint32_t>(static_cast<float>(seed));
}

// Adds uniform_random or gaussian_random of a shape, an operand or attribute.
std::string Random(Node& node, const char* op, Inputs shape, AttributeMap how) {
  how["seed"] = SeedOf(node);
  return node.Append(op, std::move(shape), std::move(how));
}

// Adds random numbers with the shape of input 0.
std::string RandomLike(Node& node, const char* op, AttributeMap how) {
  const DDim dims = node.Dims(0);
  if (dims.known()) {
    how["shape"] = Ints(dims.begin(), dims.end());
    return Random(node, op, {}, std::move(how));
  }
  const std::string shape = node.Unary("shape", node.In(0));
  return Random(node, op, {{"Shape", {shape}}}, std::move(how));
}

// What attribute dtype says, else `otherwise`.
DType DTypeOfRandom(Node& node, DType otherwise) {
  if (!node.attributes().Has("dtype")) return otherwise;
  return node.attributes().NeededType("dtype");
}

void FinishCast(Node& node, const std::string& x, DType dtype) {
  node.FinishUnary("cast", x, {{"dtype", dtype}});
}

void RandomNumbers(Node& node) {
  const bool like = node.type().ends_with("Like");
  const DType dtype =
      DTypeOfRandom(node, like ? node.TypeOf(0) : DType::kFloat32);
  auto& given = node.attributes();
  const bool normal = node.type().starts_with("RandomNormal");
  AttributeMap how;
  if (normal) {
    how = {{"mean", given.Float("mean", 0)}, {"std", given.Float("scale", 1)}};
  } else {
    how = {{"min", given.Float("low", 0)}, {"max", given.Float("high", 1)}};
  }
  const bool wide = dtype == DType::kFloat64;
  how["dtype"] = wide ? DType::kFloat64 : DType::kFloat32;
  const char* const op = normal ? "gaussian_random" : "uniform_random";
  if (like) return FinishCast(node, RandomLike(node, op, how), dtype);
  how["shape"] = given.Ints("shape");
  FinishCast(node, Random(node, op, {}, how), dtype);
}

// True with the probability that is input 0.
void Bernoulli(Node& node) {
  const DType dtype = DTypeOfRandom(node, node.TypeOf(0));
  const std::string numbers =
      RandomLike(node, "uniform_random", {{"min", 0.0}, {"max", 1.0}});
  const std::string p = node.Cast(node.In(0), DType::kFloat32);
  FinishCast(node, node.Binary("less_than", {numbers, p}), dtype);
}

// Draws classes from logarithms of their probabilities [batch, classes]: the
// largest of them plus numbers of Gumbel's distribution (E. J. Gumbel,
// "Statistical theory of extreme values", 1954).
void Multinomial(Node& node) {
  const int64_t count = node.attributes().Int("sample_size", 1);
  const DType dtype = DTypeOfRandom(node, DType::kInt32);
  const std::string sizes = node.Unary("shape", node.In(0));
  const std::string shape = node.Concat(
      {node.Slice(sizes, 0, 1), node.Vector({count}), node.Slice(sizes, 1, 2)});
  const std::string uniform =
      Random(node, "uniform_random", {{"Shape", {shape}}},
             {{"min", 0.0}, {"max", 1.0}});
  const auto negative_log = [&node](const std::string& x) {
    return node.Unary("neg", node.Unary("log", x));
  };
  const std::string logs = node.Cast(node.In(0), DType::kFloat32);
  const std::string sum = node.Binary(
      "elementwise_add",
      {node.Unsqueeze(logs, {1}), negative_log(negative_log(uniform))});
  FinishCast(
      node,
      node.Unary("arg_max", sum, {{"axis", int64_t{2}}, {"keepdims", false}}),
      dtype);
}

}  // namespace

const HandlerTable kRandomHandlers = {
    {"Bernoulli", 15, Bernoulli},
    {"Multinomial", 7, Multinomial},
    {"RandomNormal RandomNormalLike RandomUniform RandomUniformLike", 1,
     RandomNumbers},
};

}  // namespace sluice::onnx
