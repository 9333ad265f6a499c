#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/op/operand.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/backward.h"
#include "sluice/framework/run/executor.h"

// Gradients of ops whose attributes are given by inputs.
namespace sluice {
namespace {

using Ints = std::vector<int64_t>;
using Operands = std::vector<std::pair<std::string, Tensor>>;

struct Example {
  std::string op;
  DDim x;
  Operands operands;
  AttributeMap attributes = {};
};

Tensor OfInts(const Ints& values) {
  return Tensor::FromVector<int64_t>({static_cast<int64_t>(values.size())},
                                     values);
}

Tensor OfDouble(double value) {
  return Tensor::FromVector<double>({1}, {value});
}

std::vector<Example> Examples() {
  const Tensor one = OfInts({1});
  return {
      {"slice",
       {5, 4},
       {{"Starts", OfInts({3, 1})},
        {"Ends", OfInts({0, 3})},
        {"Axes", OfInts({0, 1})},
        {"Steps", OfInts({-2, 1})}}},
      {"pad", {2, 3}, {{"Pads", OfInts({1, 0, 2, -1})}}},
      {"pad",
       {2, 3},
       {{"Pads", OfInts({1, 2})}, {"Axes", one}},
       {{"mode", std::string("reflect")}}},
      {"expand", {2, 1}, {{"Shape", OfInts({3, 2, 4})}}},
      {"tile", {2, 3}, {{"Repeats", OfInts({2, 3})}}},
      {"reshape", {2, 3}, {{"Shape", OfInts({3, -1})}}},
      {"unsqueeze", {2, 3}, {{"Axes", one}}},
      {"reduce_max", {3, 4}, {{"Dim", one}}},
      {"cumsum", {3, 4}, {{"Axis", OfInts({0})}}},
      {"cumprod", {3, 4}, {{"Axis", one}}},
      {"trilu", {3, 3}, {{"K", one}}},
      {"top_k", {3, 5}, {{"K", OfInts({2})}}},
      {"resize",
       {1, 1, 3, 4},
       {{"Sizes", OfInts({1, 1, 5, 2})}},
       {{"mode", std::string("linear")}}},
      {"dft", {3, 5, 2}, {{"DftLength", OfInts({7})}, {"Axis", one}}},
      {"clip", {3, 4}, {{"Min", OfDouble(-0.5)}, {"Max", OfDouble(0.75)}}},
  };
}

// Returns the gradient of the mean of the squares of Out by X. Operands are
// fed, or made attributes.
std::vector<double> GradientOf(const Example& example, bool fed) {
  Program program;
  Feeds feeds;
  std::vector<double> values(static_cast<size_t>(example.x.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i * 7 % 11) / 4 - 1.3;
  }
  program.Data("x", DType::kFloat64, example.x);
  program.SetStopGradient("x", false);
  feeds.emplace_back("x", Tensor::FromVector<double>(example.x, values));
  OpDesc op;
  op.type = example.op;
  op.inputs = {{"X", {"x"}}};
  op.attributes = example.attributes;
  const OpSchema& schema = Registry::Global().Schema(op.type);
  for (const auto& [name, value] : example.operands) {
    const ArgDef& def = *schema.FindInput(name);
    if (!fed) {
      op.attributes[def.attribute] =
          OperandValue(op.type, def, *schema.FindAttr(def.attribute), value);
      continue;
    }
    program.Data(name, value.dtype(), value.dims());
    feeds.emplace_back(name, value);
    op.inputs.push_back({name, {name}});
  }
  const auto append = [&](OpDesc desc) {
    return program.AppendOp(std::move(desc)).Output("Out")[0];
  };
  const auto of = [](const char* type, const std::string& x) {
    OpDesc desc;
    desc.type = type;
    desc.inputs = {{"X", {x}}};
    return desc;
  };
  const std::string out = append(std::move(op));
  const std::string loss = append(of("mean", append(of("square", out))));
  AppendBackward(program, loss, {.parameters = {"x"}});
  return Executor().Run(program, feeds, {"x@GRAD"})[0].ToVector<double>();
}

TEST(OperandGradient, IsThatOfTheAttribute) {
  for (const Example& example : Examples()) {
    SCOPED_TRACE(example.op);
    const std::vector<double> gradient = GradientOf(example, /*fed=*/true);
    EXPECT_EQ(gradient, GradientOf(example, /*fed=*/false));
    EXPECT_NE(gradient, std::vector<double>(gradient.size(), 0));
  }
}

// Each bound gets what was replaced by it.
TEST(OperandGradient, BoundsOfClipHaveGradients) {
  Program program;
  program.Data("x", DType::kFloat64, {4});
  for (const char* bound : {"low", "high"}) {
    program.Data(bound, DType::kFloat64, {1});
    program.SetStopGradient(bound, false);
  }
  const auto append = [&](const char* type,
                          std::vector<std::pair<std::string, ArgVars>> inputs) {
    OpDesc op;
    op.type = type;
    op.inputs = std::move(inputs);
    return program.AppendOp(std::move(op)).Output("Out")[0];
  };
  const std::string out =
      append("clip", {{"X", {"x"}}, {"Min", {"low"}}, {"Max", {"high"}}});
  const std::string loss =
      append("reduce_sum", {{"X", {append("square", {{"X", {out}}})}}});
  AppendBackward(program, loss, {.parameters = {"low", "high"}});
  const auto grads =
      Executor().Run(program,
                     {{"x", Tensor::FromVector<double>({4}, {-5, 0.5, 4, -3})},
                      {"low", OfDouble(-1)},
                      {"high", OfDouble(2)}},
                     {"low@GRAD", "high@GRAD"});
  EXPECT_EQ(grads[0].ToVector<double>(), (std::vector<double>{-4}));
  EXPECT_EQ(grads[1].ToVector<double>(), (std::vector<double>{4}));
}

}  // namespace
}  // namespace sluice
