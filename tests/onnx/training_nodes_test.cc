#include <functional>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// Errors of optimizers; tests/python/optimizers/test_onnx_optimizers.py has
// results.
namespace sluice::testing {
namespace {

void Refuses(const char* id,
             const char* part,
             std::initializer_list<int64_t> state,
             const std::function<void(::onnx::NodeProto&)>& change) {
  ModelBuilder builder;
  for (const char* name : {"r", "t"}) {
    builder.Input(name, {});
  }
  builder.Input("x", {2});
  builder.Input("g", {2});
  builder.Input("v", state);
  auto& node =
      builder.Node("Momentum", {"r", "t", "x", "g", "v"}, {"y", "w"}, "node_5");
  node.set_domain("ai.onnx.preview.training");
  for (const char* name : {"alpha", "beta", "norm_coefficient"}) {
    SetFloat(node, name, 1);
  }
  SetString(node, "mode", "standard");
  change(node);
  builder.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, id, {"node_5", part},
              [&] { builder.Load(); });
}

TEST(OnnxOptimizers, RefuseWhatDoesNotFit) {
  Refuses("onnx.optimizer_lists",
          "6 inputs and 2 outputs; expected, for n tensors, 2 + 3 * n inputs "
          "and 2 * n outputs",
          {2}, [](auto& node) { node.add_input("x"); });
  Refuses("onnx.optimizer_lists", "2 inputs and 2 outputs", {2},
          [](auto& node) { node.mutable_input()->DeleteSubrange(2, 3); });
  Refuses("onnx.optimizer_lists", "5 inputs and 3 outputs", {2},
          [](auto& node) { node.add_output("z"); });
  Refuses("onnx.optimizer_shape",
          "input 4 has shape [1]; expected [2], that of input 2", {1},
          [](auto&) {});
  Refuses("onnx.momentum_mode", "mode is fast", {2}, [](auto& node) {
    node.mutable_attribute()->RemoveLast();
    SetString(node, "mode", "fast");
  });
  Refuses("onnx.attribute_missing", "attribute alpha is missing", {2},
          [](auto& node) {
            node.mutable_attribute()->SwapElements(0, 3);
            node.mutable_attribute()->RemoveLast();
          });
}

}  // namespace
}  // namespace sluice::testing
