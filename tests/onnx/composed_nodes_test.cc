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

}  // namespace
}  // namespace sluice::testing
