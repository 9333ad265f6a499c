#include <functional>
#include <string>
#include <vector>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// ONNX's suite and tests/python/test_onnx_composed.py have the results of
// Attention.
namespace sluice::testing {
namespace {

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

TEST(OnnxAttention, RefusesOtherNumbersOfHeadsOfKeysAndValues) {
  Refuses("onnx.attention_values", "keys have 4 heads, and its values 2",
          {1, 4, 2, 2}, [](ModelBuilder& builder, auto& /*node*/) {
            builder.graph()
                .mutable_input(2)
                ->mutable_type()
                ->mutable_tensor_type()
                ->mutable_shape()
                ->mutable_dim(1)
                ->set_dim_value(2);
          });
}

// FlexAttention with a graph of one node, and `change` to that graph.
void RefusesFlexible(
    const char* id,
    const char* part,
    const std::string& type,
    const std::function<void(::onnx::GraphProto&)>& change = {},
    std::initializer_list<int64_t> dims = {1, 2, 3, 4}) {
  Refuses(id, part, dims, [&](ModelBuilder&, auto& node) {
    node.set_op_type("FlexAttention");
    node.set_domain("ai.onnx.preview");
    auto* attribute = node.add_attribute();
    attribute->set_name("score_mod");
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    auto& graph = *attribute->mutable_g();
    graph.add_input()->set_name("a");
    auto* inner = graph.add_node();
    inner->set_op_type(type);
    inner->add_input("a");
    inner->add_output("b");
    graph.add_output()->set_name("b");
    if (change) change(graph);
  });
}

TEST(OnnxAttention, ChangesScoresWithoutChangingTheirType) {
  RefusesFlexible("onnx.flex_attention_graph",
                  "score_mod makes int64 [4] of float32 [1, 2, 3, 3]", "Shape");
  RefusesFlexible("onnx.flex_attention_outputs", "score_mod has 2 outputs",
                  "Relu",
                  [](auto& graph) { graph.add_output()->set_name("a"); });
  RefusesFlexible("onnx.subgraph_inputs", "2 inputs; expected 1", "Relu",
                  [](auto& graph) { graph.add_input()->set_name("c"); });
  RefusesFlexible("onnx.copy_dtype", "takes float64 for a", "Relu",
                  [](auto& graph) {
                    graph.mutable_input(0)
                        ->mutable_type()
                        ->mutable_tensor_type()
                        ->set_elem_type(::onnx::TensorProto::DOUBLE);
                  });
  RefusesFlexible("onnx.flex_attention_rank", "input 0 has 3 dims", "Relu", {},
                  {2, 3, 4});
  Refuses("onnx.flex_attention_precision", "softmax_precision is int64",
          {1, 2, 3, 4}, [](ModelBuilder&, auto& node) {
            node.set_op_type("FlexAttention");
            node.set_domain("ai.onnx.preview");
            SetInt(node, "softmax_precision", ::onnx::TensorProto::INT64);
          });
}

TEST(OnnxAttention, ScalesByTheRootOfAnOpenSize) {
  const std::vector<std::vector<float>> feeds = {{1, 2, 3, 4, 4, 3, 2, 2},
                                                 {1, 0, 1, 0, 0, 1, 0, 2},
                                                 {1, 2, 3, 4, 5, 6, 7, 8}};
  const auto known = Attention({1, 1, 2, 4}).Run(feeds)[0];
  const auto open = Attention({1, 1, 2, -1}).Run(feeds)[0];
  ASSERT_EQ(open.size(), known.size());
  for (size_t i = 0; i < known.size(); ++i) {
    EXPECT_NEAR(open[i], known[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace sluice::testing
