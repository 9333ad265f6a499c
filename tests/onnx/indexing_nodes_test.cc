#include <cmath>
#include <limits>
#include <vector>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// Nodes that select and change elements by indices, and their ops.
namespace sluice::testing {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

void AsFloat(ModelBuilder& builder, const char* from, const char* to) {
  SetInt(builder.Node("Cast", {from}, {to}), "to", ::onnx::TensorProto::FLOAT);
}

void AsInts(ModelBuilder& builder, const char* from, const char* to) {
  SetInt(builder.Node("Cast", {from}, {to}), "to", ::onnx::TensorProto::INT64);
}

TEST(OnnxIndexing, ScattersByTheOldNameAndTheNewOne) {
  for (const int64_t opset : {9, 11}) {
    ModelBuilder builder(opset);
    builder.Input("x", {1, 3});
    builder.Ints("flat", {2, 0});
    builder.Ints("rows", {1, 2});
    builder.Node("Reshape", {"flat", "rows"}, {"index"});
    builder.Floats("updates", {1, 2}, {8, 9});
    SetInt(builder.Node(opset == 9 ? "Scatter" : "ScatterElements",
                        {"x", "index", "updates"}, {"y"}),
           "axis", 1);
    builder.Output("y");
    EXPECT_EQ(builder.Run({{1, 2, 3}})[0], (Floats{9, 2, 8})) << opset;
  }
}

TEST(OnnxIndexing, HotRowsHaveAConstantDepthOrAComputedOne) {
  for (const bool late : {false, true}) {
    ModelBuilder builder;
    builder.Input("x", {2});
    builder.Floats("values", {2}, {0, 5});
    builder.Floats("three", {}, {3});
    if (late) {
      builder.Input("z", {-1});
      builder.Node("Shape", {"z"}, {"size"});
    }
    builder.Node("OneHot", {"x", late ? "size" : "three", "values"}, {"y"});
    builder.Output("y");
    std::vector<Floats> feeds = {{2, -2}};
    if (late) feeds.emplace_back(3);
    EXPECT_EQ(builder.Run(feeds)[0], (Floats{0, 0, 5, 0, 5, 0})) << late;
  }
}

TEST(OnnxIndexing, HardmaxIsAlongADimOrOverAllFromItOn) {
  const Floats x = {1, 7, 7, 2, 9, 3, 4, 9};
  for (const int64_t opset : {11, 13}) {
    for (const int64_t batch : {2, -1}) {
      ModelBuilder builder(opset);
      builder.Input("x", {batch, 2, 2});
      SetInt(builder.Node("Hardmax", {"x"}, {"y"}), "axis", 1);
      builder.Output("y");
      EXPECT_EQ(builder.Run({x})[0], opset == 11
                                         ? (Floats{0, 1, 0, 0, 1, 0, 0, 0})
                                         : (Floats{0, 1, 1, 0, 1, 0, 0, 1}));
    }
  }
  ModelBuilder late;
  late.Input("x", {-1, 2});
  SetInt(late.Node("Hardmax", {"x"}, {"y"}), "axis", 0);
  late.Output("y");
  EXPECT_EQ(late.Run({{1, 9, 3, 4, 2, 5}})[0], (Floats{0, 1, 1, 0, 0, 0}));
}

TEST(OnnxIndexing, SequencesAreReversedAsFarAsTheyGo) {
  for (const bool batch_first : {true, false}) {
    for (const bool late : {false, true}) {
      ModelBuilder builder;
      // 2 sequences of 3 steps, or as many steps of 2 sequences.
      if (batch_first) {
        builder.Input("x", {2, late ? -1 : 3});
      } else {
        builder.Input("x", {late ? -1 : 3, 2});
      }
      builder.Ints("lengths", {2, 3});
      auto& node = builder.Node("ReverseSequence", {"x", "lengths"}, {"y"});
      if (batch_first) {
        SetInt(node, "batch_axis", 0);
        SetInt(node, "time_axis", 1);
      }
      builder.Output("y");
      EXPECT_EQ(builder.Run({{0, 1, 2, 3, 4, 5}})[0],
                batch_first ? (Floats{1, 0, 2, 5, 4, 3})
                            : (Floats{2, 5, 0, 3, 4, 1}));
    }
  }
  ModelBuilder wrong;
  wrong.Input("x", {2, 2});
  wrong.Ints("lengths", {2, 2});
  SetInt(wrong.Node("ReverseSequence", {"x", "lengths"}, {"y"}, "node_7"),
         "time_axis", 1);
  wrong.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.sequence_axes", {"node_7"},
              [&] { wrong.Load(); });
}

TEST(OnnxIndexing, BitsAreShiftedBothWays) {
  for (const char* direction : {"LEFT", "RIGHT", "UP"}) {
    ModelBuilder builder(28);
    builder.Input("x", {3});
    AsInts(builder, "x", "bits");
    builder.Ints("places", {1, 2, 1});
    SetString(builder.Node("BitShift", {"bits", "places"}, {"b"}, "node_4"),
              "direction", direction);
    AsFloat(builder, "b", "y");
    builder.Output("y");
    if (*direction == 'U') {
      ExpectError(ErrorCode::kInvalidArgument, "onnx.bit_shift",
                  {"node_4", "'UP'"}, [&] { builder.Load(); });
    } else {
      EXPECT_EQ(builder.Run({{3, 9, -4}})[0],
                *direction == 'L' ? (Floats{6, 36, -8}) : (Floats{1, 2, -2}));
    }
  }
}

TEST(OnnxIndexing, EyesHaveTheShapeOfTheInput) {
  for (const int64_t rows : {2, -1}) {
    ModelBuilder builder;
    builder.Input("x", {rows, 3});
    SetInt(builder.Node("EyeLike", {"x"}, {"y"}), "k", 1);
    builder.Output("y");
    EXPECT_EQ(builder.Run({Floats(6, 7)})[0], (Floats{0, 1, 0, 0, 0, 1}));
  }
  ModelBuilder wrong;
  wrong.Input("x", {2});
  wrong.Node("EyeLike", {"x"}, {"y"}, "node_7");
  wrong.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.eye_rank", {"node_7", "[2]"},
              [&] { wrong.Load(); });
}

TEST(OnnxIndexing, RangesAreAsLongAsTheirLimitsSay) {
  for (const int64_t delta : {2, -2}) {
    ModelBuilder builder;
    builder.Input("x", {-1});
    builder.Node("Shape", {"x"}, {"shape"});
    builder.Node("Squeeze", {"shape"}, {"limit"});
    builder.Ints("ints", {delta > 0 ? 1 : 9, delta});
    builder.Node("Split", {"ints"}, {"starts", "deltas"});
    builder.Node("Squeeze", {"starts"}, {"start"});
    builder.Node("Squeeze", {"deltas"}, {"delta"});
    builder.Node("Range", {"start", "limit", "delta"}, {"range"});
    AsFloat(builder, "range", "y");
    builder.Output("y");
    EXPECT_EQ(builder.Run({Floats(6)})[0],
              delta > 0 ? (Floats{1, 3, 5}) : (Floats{9, 7}));
    EXPECT_EQ(builder.Run({Floats(5)})[0],
              delta > 0 ? (Floats{1, 3}) : (Floats{9, 7}));
  }
}

// The loss of scores [2, 3] for classes 2 and 1, or for the first one only.
Floats LossOf(const char* reduction,
              bool weights,
              bool ignored,
              const char* type = "NegativeLogLikelihoodLoss",
              const Floats& scores = {-1, -2, -3, -4, -5, -6}) {
  ModelBuilder builder;
  builder.Input("x", {2, 3});
  builder.Ints("classes", {2, ignored ? -100 : 1});
  auto& node = builder.Node(type, {"x", "classes"}, {"y"});
  if (weights) {
    builder.Floats("weights", {3}, {10, 0.5, 2});
    node.add_input("weights");
  }
  SetString(node, "reduction", reduction);
  if (ignored) SetInt(node, "ignore_index", -100);
  builder.Output("y");
  return builder.Run({scores})[0];
}

TEST(OnnxLoss, PicksTheLogarithmOfEachClass) {
  EXPECT_EQ(LossOf("none", false, false), (Floats{3, 5}));
  EXPECT_EQ(LossOf("sum", false, false), (Floats{8}));
  EXPECT_EQ(LossOf("mean", false, false), (Floats{4}));
  EXPECT_EQ(LossOf("none", true, false), (Floats{6, 2.5}));
  EXPECT_EQ(LossOf("mean", true, false), (Floats{3.4F}));
}

TEST(OnnxLoss, LeavesOutAClass) {
  EXPECT_EQ(LossOf("none", false, true), (Floats{3, 0}));
  EXPECT_EQ(LossOf("mean", false, true), (Floats{3}));
  EXPECT_EQ(LossOf("sum", true, true), (Floats{6}));
  EXPECT_EQ(LossOf("mean", true, true), (Floats{3}));
  // The result for any values in its row.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(LossOf("mean", true, true, "NegativeLogLikelihoodLoss",
                   {-1, -2, -3, -kInfinity, 0, 0}),
            (Floats{3}));
}

TEST(OnnxLoss, TakesScoresAndGivesTheirLogarithms) {
  const Floats scores = {0, 0, 0, 0, 0, 0};
  EXPECT_NEAR(
      LossOf("mean", false, false, "SoftmaxCrossEntropyLoss", scores)[0],
      std::log(3.0), 1e-6);
  ModelBuilder builder;
  builder.Input("x", {1, 2});
  builder.Ints("classes", {1});
  builder.Node("SoftmaxCrossEntropyLoss", {"x", "classes"}, {"y", "logs"});
  builder.Output("y");
  builder.Output("logs");
  const auto results = builder.Run({{0, 0}});
  for (const Floats& result : results) {
    EXPECT_NEAR(result[0], result[0] > 0 ? std::log(2.0) : -std::log(2.0),
                1e-6);
  }
  EXPECT_EQ(results[1].size(), 2);
}

TEST(OnnxLoss, RefusesWhatDoesNotFit) {
  const auto refuse = [](std::initializer_list<int64_t> dims,
                         const char* reduction, const char* id,
                         const char* part) {
    ModelBuilder builder;
    builder.Input("x", dims);
    builder.Ints("classes", {1, 0});
    SetString(builder.Node("NegativeLogLikelihoodLoss", {"x", "classes"}, {"y"},
                           "node_8"),
              "reduction", reduction);
    builder.Output("y");
    ExpectError(ErrorCode::kInvalidArgument, id, {"node_8", part},
                [&] { builder.Load(); });
  };
  refuse({2, 3}, "all", "onnx.loss_reduction", "is all");
  refuse({3, 3}, "sum", "onnx.loss_shapes", "[3, 3]");
  refuse({2, 3, 1}, "sum", "onnx.loss_shapes", "[2, 3, 1]");
  refuse({2}, "sum", "onnx.loss_shapes", "[2]");
}

// A square of 4 pixels becomes 4 channels, and vice versa.
TEST(OnnxImages, BlocksMoveBetweenSpaceAndDepth) {
  for (const int64_t height : {2, -1}) {
    for (const int64_t width : {4, -1}) {
      ModelBuilder builder;
      builder.Input("x", {-1, 1, height, width});
      SetInt(builder.Node("SpaceToDepth", {"x"}, {"deep"}), "blocksize", 2);
      SetInt(builder.Node("DepthToSpace", {"deep"}, {"y"}), "blocksize", 2);
      auto& wide = builder.Node("DepthToSpace", {"deep"}, {"z"});
      SetInt(wide, "blocksize", 2);
      SetString(wide, "mode", "CRD");
      builder.Output("deep");
      builder.Output("y");
      builder.Output("z");
      // Only one size of a feed may be unknown here.
      auto* shape = builder.graph()
                        .mutable_input(0)
                        ->mutable_type()
                        ->mutable_tensor_type()
                        ->mutable_shape();
      if (height < 0 || width < 0) shape->mutable_dim(0)->set_dim_value(1);
      if (height < 0 && width < 0) continue;
      const Floats x = {0, 1, 2, 3, 4, 5, 6, 7};
      const auto results = builder.Run({x});
      EXPECT_EQ(results[0], (Floats{0, 2, 1, 3, 4, 6, 5, 7}));
      EXPECT_EQ(results[1], x);
      EXPECT_EQ(results[2], x);  // one channel: both orders are the same
    }
  }
}

TEST(OnnxImages, BlocksOfOnePixelChangeNothing) {
  ModelBuilder builder;
  builder.Input("x", {1, 1, -1, 2});
  SetInt(builder.Node("DepthToSpace", {"x"}, {"y"}), "blocksize", 1);
  builder.Output("y");
  EXPECT_EQ(builder.Run({{1, 2, 3, 4}})[0], (Floats{1, 2, 3, 4}));
}

TEST(OnnxImages, BlocksAreChecked) {
  const auto refuse = [](std::initializer_list<int64_t> dims, int64_t block,
                         const char* mode, const char* id) {
    ModelBuilder builder;
    builder.Input("x", dims);
    auto& node = builder.Node("DepthToSpace", {"x"}, {"y"}, "node_6");
    SetInt(node, "blocksize", block);
    SetString(node, "mode", mode);
    builder.Output("y");
    ExpectError(ErrorCode::kInvalidArgument, id, {"node_6"},
                [&] { builder.Load(); });
  };
  refuse({1, 4, 2, 2}, 0, "DCR", "onnx.block_size");
  refuse({1, 4, 2, 2}, INT64_MAX, "DCR", "onnx.block_size");
  refuse({4, 2, 2}, 2, "DCR", "onnx.block_rank");
  refuse({1, 6, 2, 2}, 2, "DCR", "onnx.block_divides");
  refuse({1, 4, 2, 2}, 2, "RCD", "onnx.block_mode");
}

TEST(OnnxImages, MustHaveRoomForBlocks) {
  const auto refuse = [](const char* id, const Ints& image, const Ints& block,
                         const char* attribute, const Ints& numbers) {
    ModelBuilder builder(18);
    builder.Input("x", {1, 4, 4});
    builder.Ints("image", image);
    builder.Ints("block", block);
    auto& node = builder.Node("Col2Im", {"x", "image", "block"}, {"y"});
    if (attribute != nullptr) SetInts(node, attribute, numbers);
    builder.Output("y");
    ExpectError(ErrorCode::kInvalidArgument, id, {"Col2Im"},
                [&] { builder.Load(); });
  };
  refuse("onnx.col2im_shape", {3, 3}, {2}, nullptr, {});
  refuse("onnx.col2im_block", {3, 3}, {2, 4}, nullptr, {});
  refuse("onnx.col2im_block", {3, 0}, {2, 1}, nullptr, {});
  refuse("onnx.col2im_block", {3, 3}, {2, 2}, "dilations", {3, 1});
  refuse("onnx.col2im_entries", {3, 3}, {2, 2}, "strides", {1});
  refuse("onnx.col2im_number", {3, 3}, {2, 2}, "strides", {1, 0});
  refuse("onnx.col2im_number", {3, 3}, {2, 2}, "pads", {0, 0, INT64_MAX, 0});
  refuse("onnx.block_divides", {3, 3}, {3, 1}, nullptr, {});
}

TEST(OnnxImages, AreCutAndPaddedAroundTheirMiddle) {
  for (const int64_t rows : {3, -1}) {
    ModelBuilder builder(18);
    builder.Input("x", {rows, 1, 3});
    builder.Ints("sizes", {2, 6});
    SetInts(builder.Node("CenterCropPad", {"x", "sizes"}, {"y"}), "axes",
            {0, -1});
    builder.Output("y");
    EXPECT_EQ(builder.Run({{1, 2, 3, 4, 5, 6, 7, 8, 9}})[0],
              (Floats{0, 1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0}));
  }
}

TEST(OnnxNorm, LpNormalizationIsZeroWhereTheNormIs) {
  for (const int64_t p : {1, 2, 3}) {
    ModelBuilder builder;
    builder.Input("x", {2, 2});
    SetInt(builder.Node("LpNormalization", {"x"}, {"y"}, "node_2"), "p", p);
    builder.Output("y");
    if (p == 3) {
      ExpectError(ErrorCode::kInvalidArgument, "onnx.lp_norm", {"node_2"},
                  [&] { builder.Load(); });
      continue;
    }
    const Floats y = builder.Run({{3, -4, 0, 0}})[0];
    EXPECT_FLOAT_EQ(y[0], p == 1 ? 3.0F / 7 : 0.6F);
    EXPECT_FLOAT_EQ(y[1], p == 1 ? -4.0F / 7 : -0.8F);
    EXPECT_EQ(y[2], 0);
    EXPECT_EQ(y[3], 0);
  }
}

}  // namespace
}  // namespace sluice::testing
