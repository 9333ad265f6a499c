#include <string>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// Errors of these nodes. ONNX's suite and tests/python/test_onnx_composed.py
// have their results.
namespace sluice::testing {
namespace {

// Expects an error for a node with inputs a, b and c of these dims.
template <typename Change>
void Refuses(const char* id,
             const char* part,
             const std::string& type,
             std::initializer_list<std::initializer_list<int64_t>> dims,
             Change change) {
  ModelBuilder builder(28);
  auto& node = builder.Node(type, {}, {"y"}, "node_4");
  char name = 'a';
  for (const auto& of_input : dims) {
    builder.Input({name}, of_input);
    node.add_input(std::string(1, name++));
  }
  change(node);
  builder.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, id, {"node_4", part},
              [&] { builder.Load(); });
}

TEST(OnnxComposed, EinsumRefusesEquationsThatDoNotFit) {
  const auto refuse = [](const char* equation, const char* part) {
    Refuses("einsum.equation", part, "Einsum", {{2, 3}, {3, 2}},
            [&](auto& node) { SetString(node, "equation", equation); });
  };
  refuse("ij->ij", "the number of terms is 1, that of inputs is 2");
  refuse("ij,kj->ik", "j is 3 in the term ij, and 2 in the term kj");
}

TEST(OnnxComposed, ActivationsAreNamedAsOnnxHasThem) {
  Refuses("onnx.gelu", "approximate is erf", "Gelu", {{2}},
          [](auto& node) { SetString(node, "approximate", "erf"); });
  Refuses("onnx.causal_activation", "activation is relu", "CausalConvWithState",
          {{1, 2, 4}, {2, 1, 3}},
          [](auto& node) { SetString(node, "activation", "relu"); });
}

TEST(OnnxComposed, DTypesThatOnnxHasNotAreRefused) {
  Refuses("onnx.quantized_dtype", "input 0 is of float32", "MatMulInteger",
          {{2, 3}, {3, 2}}, [](auto&) {});
  Refuses("onnx.quantized_dtype", "input 0 is of float32", "ConvInteger",
          {{1, 1, 3, 3}, {1, 1, 2, 2}}, [](auto&) {});
  ModelBuilder integers(20);
  integers.Ints("x", {INT64_MAX});
  SetInt(integers.Node("IsInf", {"x"}, {"y"}, "node_4"), "detect_negative", 0);
  integers.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.is_inf_dtype",
              {"node_4", "input 0 is of int64"}, [&] { integers.Load(); });
}

// The rows that numbers belong to are not guessed.
TEST(OnnxComposed, ZeroPointsOfRowsNeedTheRankOfTheMatrix) {
  ModelBuilder builder(20);
  for (const char* name : {"a", "b", "a_zero"}) {
    builder.Input(name, {2, 2});
    auto* type = builder.graph()
                     .mutable_input(builder.graph().input_size() - 1)
                     ->mutable_type()
                     ->mutable_tensor_type();
    type->set_elem_type(::onnx::TensorProto::UINT8);
    type->clear_shape();
  }
  builder.Node("MatMulInteger", {"a", "b", "a_zero"}, {"y"}, "node_4");
  builder.Output("y");
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"node_4", "the rank of a is unknown", "input 2"},
              [&] { builder.Load(); });
}

TEST(OnnxComposed, RotaryEmbeddingRefusesWhatHasNoPairs) {
  Refuses("onnx.rotary_shape", "3 dims and num_heads is 0", "RotaryEmbedding",
          {{2, 3, 8}, {3, 2}, {3, 2}}, [](auto&) {});
  Refuses("onnx.rotary_size", "3 elements of each head of 4", "RotaryEmbedding",
          {{1, 1, 2, 4}, {1, 2, 2}, {1, 2, 2}},
          [](auto& node) { SetInt(node, "rotary_embedding_dim", 3); });
}

TEST(OnnxComposed, OperatorsOfOnnxruntimeRefuseWhatDoesNotFit) {
  using Dims = std::initializer_list<std::initializer_list<int64_t>>;
  const auto refuse = [](const char* id, const char* part, const char* type,
                         Dims dims, const auto& change) {
    Refuses(id, part, type, dims, [&](auto& node) {
      node.set_domain("com.microsoft");
      change(node);
    });
  };
  refuse("onnx.split_gelu", "last dim of 5", "BiasSplitGelu", {{2, 5}, {5}},
         [](auto&) {});
  refuse("onnx.crop_mode", "mode is cubic", "CropAndResize",
         {{1, 1, 2, 2}, {1, 4}, {1}, {2}},
         [](auto& node) { SetString(node, "mode", "cubic"); });
  refuse("onnx.attention_num_heads", "num_heads is 0", "MultiHeadAttention",
         {{1, 2, 4}, {1, 2, 4}, {1, 2, 4}},
         [](auto& node) { SetInt(node, "num_heads", 0); });
  refuse("onnx.attention_sizes", "qkv_hidden_sizes has 2 entries", "Attention",
         {{1, 2, 4}, {4, 12}}, [](auto& node) {
           SetInt(node, "num_heads", 2);
           SetInts(node, "qkv_hidden_sizes", {4, 4});
         });
  refuse("onnx.group_norm_activation", "activation is 2", "GroupNorm",
         {{1, 2, 2, 4}, {4}, {4}},
         [](auto& node) { SetInt(node, "activation", 2); });
}

TEST(OnnxComposed, GroupQueryAttentionRefusesWhatDoesNotFit) {
  const auto refuse = [](const char* id, const char* part, int64_t heads,
                         const std::string& name, int64_t value) {
    Refuses(id, part, "GroupQueryAttention",
            {{1, 1, 4}, {1, 1, 4}, {1, 1, 4}, {1, 1, 0, 4}, {1, 1, 0, 4}, {1}},
            [&](auto& node) {
              node.set_domain("com.microsoft");
              SetInt(node, "num_heads", heads);
              SetInt(node, "kv_num_heads", 1);
              SetInt(node, name, value);
            });
  };
  refuse("onnx.grouped_output", "qk_output is 3", 1, "qk_output", 3);
  refuse("onnx.grouped_window", "size is -2", 1, "local_window_size", -2);
  refuse("onnx.grouped_heads", "num_heads is 0", 0, "qk_output", 0);
}

}  // namespace
}  // namespace sluice::testing
