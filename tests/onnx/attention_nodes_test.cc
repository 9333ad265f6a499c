#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// tests/python/test_onnx.py compares the results of Attention with ONNX's
// reference.
namespace sluice::testing {
namespace {

using Floats = std::vector<float>;
using Change = std::function<void(ModelBuilder&, ::onnx::NodeProto&)>;

// Q, K and V of `dims`, and `change` to the node.
ModelBuilder Attention(std::initializer_list<int64_t> dims,
                       const Change& change = {}) {
  ModelBuilder builder(25);
  for (const char* name : {"q", "k", "v"}) {
    builder.Input(name, dims);
  }
  auto& node = builder.Node("Attention", {"q", "k", "v"}, {"y"}, "node_7");
  if (change) change(builder, node);
  builder.Output("y");
  return builder;
}

void Refuses(const char* id,
             const char* part,
             std::initializer_list<int64_t> dims,
             const Change& change = {}) {
  const ModelBuilder builder = Attention(dims, change);
  ExpectError(ErrorCode::kInvalidArgument, id, {"node_7", part},
              [&] { builder.Load(); });
}

TEST(OnnxAttention, OfOneKeyIsItsValue) {
  const ModelBuilder builder = Attention({1, 1, 1, 2});
  EXPECT_EQ(builder.Run({{5, 6}, {7, 8}, {1, 2}})[0], (Floats{1, 2}));
}

TEST(OnnxAttention, RowsWithoutAnyKeyAreZero) {
  const ModelBuilder builder =
      Attention({1, 1, 1, 2}, [](ModelBuilder& model, auto& node) {
        model.Floats("mask", {1, 1}, {-INFINITY});
        node.add_input("mask");
      });
  EXPECT_EQ(builder.Run({{5, 6}, {7, 8}, {1, 2}})[0], (Floats{0, 0}));
}

// With one past key the query is at position 1, and attends to both keys.
TEST(OnnxAttention, APastKeyMovesTheTriangle) {
  const ModelBuilder builder =
      Attention({1, 1, 1, 1}, [](ModelBuilder& model, auto& node) {
        model.Floats("past_key", {1, 1, 1, 1}, {0});
        model.Floats("past_value", {1, 1, 1, 1}, {3});
        for (const char* input : {"", "past_key", "past_value"}) {
          node.add_input(input);
        }
        node.add_output("keys");
        node.add_output("values");
        SetInt(node, "is_causal", 1);
        model.Output("values");
      });
  const auto results = builder.Run({{0}, {0}, {5}});
  EXPECT_EQ(results[0], (Floats{3, 5}));
  EXPECT_EQ(results[1], (Floats{4}));
}

TEST(OnnxAttention, RefusesWhatDoesNotFit) {
  Refuses("onnx.attention_rank", "input 0 has 2 dims", {2, 3});
  Refuses("onnx.attention_heads", "q_num_heads is 0", {1, 2, 4});
  Refuses("onnx.attention_groups", "3 heads of queries do not divide by 2",
          {1, 2, 6}, [](ModelBuilder&, auto& node) {
            SetInt(node, "q_num_heads", 3);
            SetInt(node, "kv_num_heads", 2);
          });
  Refuses(
      "onnx.attention_window", "a window of -2", {1, 1, 2, 2},
      [](ModelBuilder&, auto& node) { SetInt(node, "left_window_size", -2); });
  Refuses("onnx.attention_output", "mode is 4", {1, 1, 2, 2},
          [](ModelBuilder&, auto& node) {
            SetInt(node, "qk_matmul_output_mode", 4);
          });
}

TEST(OnnxAttention, RefusesAScaleOfAnUnknownSize) {
  const ModelBuilder builder = Attention({1, 1, 2, -1});
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"node_7", "one over the root"}, [&] { builder.Load(); });
}

}  // namespace
}  // namespace sluice::testing
