#include <vector>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// Nodes that select and change elements by indices, where ONNX's suite
// (tests/python/test_onnx_suite.py) does not have them.
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

TEST(OnnxIndexing, SequencesAreAlongTheFirstTwoDims) {
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

TEST(OnnxIndexing, EyesAreMatrices) {
  ModelBuilder wrong;
  wrong.Input("x", {2});
  wrong.Node("EyeLike", {"x"}, {"y"}, "node_7");
  wrong.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.eye_rank", {"node_7", "[2]"},
              [&] { wrong.Load(); });
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
                         const char* attribute, const Ints& numbers,
                         ErrorCode code = ErrorCode::kInvalidArgument) {
    ModelBuilder builder(18);
    builder.Input("x", {1, 4, 4});
    builder.Ints("image", image);
    builder.Ints("block", block);
    auto& node = builder.Node("Col2Im", {"x", "image", "block"}, {"y"});
    if (attribute != nullptr) SetInts(node, attribute, numbers);
    builder.Output("y");
    ExpectError(code, id, {"Col2Im"}, [&] { builder.Load(); });
  };
  refuse("onnx.col2im_shape", {3, 3}, {2}, nullptr, {});
  refuse("onnx.col2im_block", {3, 3}, {2, 4}, nullptr, {});
  refuse("onnx.col2im_size", {3, 0}, {2, 1}, nullptr, {});
  refuse("onnx.col2im_size", {3, 3}, {2, int64_t{1} << 31}, nullptr, {});
  refuse("onnx.col2im_block", {3, 3}, {2, 2}, "dilations", {3, 1});
  refuse("onnx.col2im_entries", {3, 3}, {2, 2}, "strides", {1});
  refuse("onnx.col2im_number", {3, 3}, {2, 2}, "strides", {1, 0});
  refuse("onnx.col2im_number", {3, 3}, {2, 2}, "pads", {0, 0, INT64_MAX, 0});
  refuse("onnx.block_divides", {3, 3}, {3, 1}, nullptr, {});
  refuse("ddim.overflow", Ints(4, 1 << 16), Ints(4, 1 << 16), nullptr, {},
         ErrorCode::kOutOfRange);

  ModelBuilder matrix(18);
  matrix.Input("x", {1, 4, 4});
  matrix.Ints("image", {3, 3}).add_dims(1);
  matrix.Ints("block", {2, 2});
  matrix.Node("Col2Im", {"x", "image", "block"}, {"y"});
  matrix.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.col2im_sizes",
              {"its input 1 has shape [2, 1]"}, [&] { matrix.Load(); });
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
