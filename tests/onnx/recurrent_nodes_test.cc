#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// RNN, GRU and LSTM; ONNX's suite has their formulas.
namespace sluice::testing {
namespace {

using Floats = std::vector<float>;

void SetNames(::onnx::NodeProto& node,
              const std::string& attribute,
              std::initializer_list<const char*> names) {
  auto* made = node.add_attribute();
  made->set_name(attribute);
  made->set_type(::onnx::AttributeProto::STRINGS);
  for (const char* name : names) {
    made->add_strings(name);
  }
}

// h = f(x + h) of one unit in each of two directions.
ModelBuilder Rnn(std::initializer_list<const char*> activations) {
  ModelBuilder builder(14);
  builder.Input("x", {2, 1, 1});
  builder.Floats("w", {2, 1, 1}, {1, 1});
  auto& node = builder.Node("RNN", {"x", "w", "w"}, {"y", "last"}, "node_5");
  SetString(node, "direction", "bidirectional");
  SetNames(node, "activations", activations);
  builder.Output("y");
  builder.Output("last");
  return builder;
}

::onnx::NodeProto& NodeOf(ModelBuilder& builder) {
  return *builder.graph().mutable_node(0);
}

TEST(OnnxRecurrent, ActivationsThatHaveAnAlphaTakeOneEach) {
  ModelBuilder builder = Rnn({"Relu", "LeakyRelu"});
  SetFloats(NodeOf(builder), "activation_alpha", {0.5F});
  // Forward: 0, 3. Backward: 3, (3 - 8) / 2.
  EXPECT_EQ(builder.Run({{-8, 3}})[0], (Floats{0, -2.5F, 3, 3}));
}

TEST(OnnxRecurrent, TheSecondNameOfRnnsDefaultIsUnusedInOneDirection) {
  ModelBuilder builder = Rnn({"Relu", "Tanh"});
  NodeOf(builder).mutable_attribute(0)->set_s("forward");
  builder.graph().clear_initializer();
  builder.Floats("w", {1, 1, 1}, {1});
  EXPECT_EQ(builder.Run({{-8, 3}})[0], (Floats{0, 3}));
}

TEST(OnnxRecurrent, ActivationsMayBeInAnyCaseAndHaveDefaults) {
  const ModelBuilder builder = Rnn({"affine", "THRESHOLDEDRELU"});
  EXPECT_EQ(builder.Run({{0.5F, 3}})[0], (Floats{0.5F, 3.5F, 3.5F, 3}));
}

TEST(OnnxRecurrent, WhatNoModelMaySayIsRefused) {
  ExpectError(ErrorCode::kInvalidArgument, "onnx.recurrent_activation",
              {"node_5", "names Tahn"}, [] {
                Rnn({"Tahn", "Tanh"}).Load();
              });
  ModelBuilder builder = Rnn({"Tanh", "Tanh"});
  SetInt(NodeOf(builder), "hidden_size", 2);
  ExpectError(ErrorCode::kInvalidArgument, "onnx.recurrent_hidden_size",
              {"node_5", "hidden_size is 2"}, [&] { builder.Load(); });
}

}  // namespace
}  // namespace sluice::testing
