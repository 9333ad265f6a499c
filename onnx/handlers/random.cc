#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "sluice/onnx/import/handlers.h"

// Random numbers: others in each run, the same in each process. As in ONNX,
// they are not those of another implementation with this seed.
namespace sluice::onnx {
namespace {

// Attribute seed is any float, but that of Dropout an integer.
int64_t SeedOf(Node& node) {
  if (node.type() == "Dropout") return node.attributes().Int("seed", 0);
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

// In inference nothing is dropped.
void KeepAll(Node& node) {
  if (node.HasOutput(1)) {
    const std::string shape = node.Unary("shape", node.In(0));
    node.FinishOutput(1, "fill_constant", {{"Shape", {shape}}},
                      {{"dtype", DType::kBool}, {"value", 1.0}});
  }
  node.attributes().Ignore("ratio");
  node.attributes().Ignore("seed");
  FindHandler("Identity", 1)(node);
}

// In opset 7 the mask has the dtype of the input.
void Dropout7(Node& node) {
  node.AllowOutputs(1);
  KeepAll(node);
}

// Drops elements with a probability, input 1, if input 2 is true, and divides
// the others by that of keeping them.
void Dropout12(Node& node) {
  const Tensor* known = node.HasInput(2) ? node.Constant(2) : nullptr;
  const bool never = known != nullptr && known->dtype() == DType::kBool &&
                     known->numel() == 1 && !known->data<bool>()[0];
  if (!node.HasInput(2) || never) return KeepAll(node);
  std::string ratio = node.Number(0.5, DType::kFloat32);
  if (node.HasInput(1)) {
    ratio = node.Reshape(node.Cast(node.In(1), DType::kFloat32), {});
  }
  if (const Tensor* constant = node.ConstantOf(ratio)) {
    const float given = constant->data<float>()[0];
    SLUICE_ENFORCE(given >= 0 && given < 1, ErrorCode::kInvalidArgument,
                   "onnx.dropout_ratio",
                   "its ratio (input 1) is {}; expected 0 to 1, without 1",
                   given);
  }
  const std::string zero = node.Number(0, DType::kFloat32);
  const std::string drop =
      node.Where({node.Reshape(node.In(2), {}), ratio, zero});
  const std::string numbers =
      RandomLike(node, "uniform_random", {{"min", 0.0}, {"max", 1.0}});
  const std::string kept = node.Binary("greater_equal", {numbers, drop});
  const std::string keep =
      node.Unary("scale", drop, {{"scale", -1.0}, {"bias", 1.0}});
  const DType dtype = node.TypeOf(0);
  const std::string scaled =
      node.Binary("elementwise_div", {node.In(0), node.Cast(keep, dtype)});
  if (node.HasOutput(1)) node.FinishOutput(1, "assign", {{"X", {kept}}});
  node.Finish(
      "where",
      {{"Condition", {kept}}, {"X", {scaled}}, {"Y", {node.Number(0, dtype)}}});
}

}  // namespace

const HandlerTable kRandomHandlers = {
    {"Bernoulli", 15, Bernoulli},
    {"Dropout", 7, Dropout7},
    {"Dropout", 10, KeepAll},
    {"Dropout", 12, Dropout12},
    {"Multinomial", 7, Multinomial},
    {"RandomNormal RandomNormalLike RandomUniform RandomUniformLike", 1,
     RandomNumbers},
};

}  // namespace sluice::onnx
