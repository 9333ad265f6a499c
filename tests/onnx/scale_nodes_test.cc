#include <algorithm>
#include <string>
#include <vector>

#include "tests/onnx/model_builder.h"
#include <gtest/gtest.h>

// Nodes that are imported together: by one number, and ops of constants.
namespace sluice::testing {
namespace {

using Strings = std::vector<std::string>;

Strings OpsOf(const onnx::OnnxModel& model) {
  Strings types;
  for (const auto& op : model.program.block().ops) {
    types.push_back(op.type);
  }
  return types;
}

bool Has(const onnx::OnnxModel& model, const std::string& type) {
  const Strings types = OpsOf(model);
  return std::find(types.begin(), types.end(), type) != types.end();
}

// x * clip(x + 3, 0, 6) / by.
ModelBuilder HardSwish(float by = 6) {
  ModelBuilder builder;
  builder.Input("x", {-1, 2});
  builder.Floats("three", {1}, {3});
  builder.Floats("zero", {}, {0});
  builder.Floats("six", {}, {6});
  builder.Floats("by", {}, {by});
  builder.Node("Add", {"x", "three"}, {"sum"});
  builder.Node("Clip", {"sum", "zero", "six"}, {"gate"});
  builder.Node("Mul", {"x", "gate"}, {"product"});
  builder.Node("Div", {"product", "by"}, {"y"});
  builder.Output("y");
  return builder;
}

TEST(OnnxScale, ANumberTimesAndPlusIsOneOp) {
  ModelBuilder builder;
  builder.Input("x", {-1, 2});
  builder.Floats("two", {}, {2});
  builder.Floats("five", {1}, {5});
  builder.Node("Mul", {"two", "x"}, {"product"});
  builder.Node("Add", {"product", "five"}, {"y"});
  builder.Output("y");
  EXPECT_EQ(OpsOf(builder.Load()), (Strings{"scale", "scale"}));
  EXPECT_EQ(builder.Run({{1, -3}})[0], (std::vector<float>{7, -1}));
}

TEST(OnnxScale, AProductThatIsReadTwiceStays) {
  ModelBuilder builder;
  builder.Input("x", {-1, 2});
  builder.Floats("two", {}, {2});
  builder.Node("Mul", {"x", "two"}, {"product"});
  builder.Node("Add", {"product", "two"}, {"sum"});
  builder.Node("Mul", {"sum", "product"}, {"y"});
  builder.Output("y");
  const onnx::OnnxModel model = builder.Load();
  EXPECT_EQ(model.program.block().ops[1].Input("X")[0], "product");
  EXPECT_EQ(builder.Run({{1, -3}})[0], (std::vector<float>{8, 24}));
}

TEST(OnnxScale, ANumberOfMoreDimsIsBroadcast) {
  ModelBuilder builder;
  builder.Input("x", {2});
  builder.Floats("two", {1, 1}, {2});
  builder.Node("Mul", {"x", "two"}, {"y"});
  builder.Output("y");
  EXPECT_EQ(OpsOf(builder.Load()), (Strings{"elementwise_mul"}));
}

TEST(OnnxScale, HardSwishIsFoundInItsParts) {
  const ModelBuilder builder = HardSwish();
  EXPECT_TRUE(Has(builder.Load(), "hard_swish"));
  EXPECT_EQ(builder.Run({{-4, 0, 3, 5}})[0], (std::vector<float>{0, 0, 3, 5}));
}

TEST(OnnxScale, WhatOnlyLooksLikeHardSwishStays) {
  EXPECT_FALSE(Has(HardSwish(5).Load(), "hard_swish"));
  ModelBuilder read_elsewhere = HardSwish();
  read_elsewhere.Output("gate");
  EXPECT_FALSE(Has(read_elsewhere.Load(), "hard_swish"));
  ModelBuilder of_another = HardSwish();
  of_another.Input("z", {-1, 2});
  of_another.graph().mutable_node(2)->set_input(0, "z");
  EXPECT_FALSE(Has(of_another.Load(), "hard_swish"));
}

TEST(OnnxScale, OpsOfConstantsAreComputed) {
  ModelBuilder builder;
  builder.Input("x", {-1, 2});
  builder.Floats("w", {2, 2}, {1, 2, 3, 4});
  SetInts(builder.Node("Transpose", {"w"}, {"turned"}), "perm", {1, 0});
  builder.Node("ReduceMax", {"turned"}, {"most"});
  builder.Node("MatMul", {"x", "turned"}, {"product"});
  builder.Node("Add", {"product", "most"}, {"y"});
  builder.Output("y");
  const onnx::OnnxModel model = builder.Load();
  EXPECT_FALSE(Has(model, "transpose"));
  EXPECT_FALSE(Has(model, "reduce_max"));
  // A value that only they read is not a parameter.
  for (const auto& [name, value] : model.parameters) {
    EXPECT_NE(name, "w");
  }
  EXPECT_EQ(builder.Run({{1, 1}})[0], (std::vector<float>{7, 11}));
}

}  // namespace
}  // namespace sluice::testing
