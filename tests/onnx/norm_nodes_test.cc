#include <cmath>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// Nodes that normalise; ONNX's suite has their formulas.
namespace sluice::testing {
namespace {

using Floats = std::vector<float>;

void ExpectFloats(const Floats& got, const Floats& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 1e-5) << i;
  }
}

TEST(OnnxNorms, LogSoftmaxIsOverAllDimsThatFollowUpToOpset12) {
  for (const int64_t opset : {12, 13}) {
    ModelBuilder builder(opset);
    builder.Input("x", {-1, 2, 2});
    SetInt(builder.Node("LogSoftmax", {"x"}, {"y"}), "axis", 1);
    builder.Output("y");
    const auto results = builder.Run({Floats(8, 3)});
    for (const float value : results[0]) {
      EXPECT_FLOAT_EQ(value, std::log(opset < 13 ? 0.25F : 0.5F));
    }
  }
}

TEST(OnnxNorms, ScalesOfFewerDimsAreBroadcast) {
  ModelBuilder builder(17);
  builder.Input("x", {1, 2, 2});
  builder.Floats("scale", {2}, {1, 2});
  auto& node = builder.Node("LayerNormalization", {"x", "scale"}, {"y"});
  SetInt(node, "axis", 1);
  SetFloat(node, "epsilon", 0);
  builder.Output("y");
  ExpectFloats(builder.Run({{1, 1, 3, 3}})[0], {-1, -2, 1, 2});
}

TEST(OnnxNorms, WhatIsKnownTooLateIsRefused) {
  ModelBuilder group(18);
  group.Input("x", {1, -1, 2});
  group.Floats("scale", {2}, {1, 2});
  SetInt(group.Node("GroupNormalization", {"x", "scale", "scale"}, {"y"}),
         "num_groups", 2);
  group.Output("y");
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"the channels of its input"}, [&] { group.Load(); });
}

// Scales are for each group up to opset 20, and for each channel from then on.
TEST(OnnxNorms, GroupNormalizationHasScalesOfGroupsOrOfChannels) {
  for (const int64_t opset : {18, 21}) {
    ModelBuilder builder(opset);
    builder.Input("x", {1, 6, 2});
    const bool old = opset == 18;
    const int64_t count = old ? 2 : 6;
    const Floats scale = old ? Floats{1, 10} : Floats{1, 1, 1, 10, 10, 10};
    const Floats bias = old ? Floats{0, 3} : Floats{0, 0, 0, 3, 3, 3};
    builder.Floats("scale", {count}, scale);
    builder.Floats("bias", {count}, bias);
    auto& node =
        builder.Node("GroupNormalization", {"x", "scale", "bias"}, {"y"});
    SetInt(node, "num_groups", 2);
    SetFloat(node, "epsilon", 0);
    builder.Output("y");
    ExpectFloats(builder.Run({{1, 3, 3, 1, 1, 3, 5, 9, 9, 5, 5, 9}})[0],
                 {-1, 1, 1, -1, -1, 1, -7, 13, 13, -7, -7, 13});
  }
}

TEST(OnnxNorms, GroupsAreChecked) {
  for (const auto& [groups, id] :
       {std::pair{int64_t{0}, "op.attribute_limit"},
        std::pair{int64_t{3}, "group_norm.groups"}}) {
    ModelBuilder builder(18);
    builder.Input("x", {1, 4, 2});
    builder.Floats("scale", {4}, {1, 1, 1, 1});
    auto& node = builder.Node("GroupNormalization", {"x", "scale", "scale"},
                              {"y"}, "node_5");
    SetInt(node, "num_groups", groups);
    // Each has the right number of scales for its opset.
    builder.model.mutable_opset_import(0)->set_version(groups == 0 ? 18 : 21);
    builder.Output("y");
    ExpectError(ErrorCode::kInvalidArgument, id, {"node_5", "groups"},
                [&] { builder.Load(); });
  }
}

}  // namespace
}  // namespace sluice::testing
