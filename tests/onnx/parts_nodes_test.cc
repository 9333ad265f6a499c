#include <vector>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// Nodes with several outputs: Split and TopK; Trilu and Size.
namespace sluice::testing {
namespace {

using Floats = std::vector<float>;

TEST(OnnxParts, SplitTakesSizesOrMakesThemEqual) {
  for (const int64_t opset : {11, 13, 18}) {
    ModelBuilder builder(opset);
    builder.Input("x", {-1, 5});
    auto& equal = builder.Node("Split", {"x"}, {"a", "b"});
    SetInt(equal, "axis", -1);
    if (opset == 18) {
      SetInt(equal, "num_outputs", 2);
    } else if (opset == 11) {
      SetInts(equal, "split", {3, 2});
    } else {
      builder.Ints("sizes", {3, 2});
      equal.add_input("sizes");
    }
    builder.Output("a");
    builder.Output("b");
    const auto results = builder.Run({{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}});
    EXPECT_EQ(results[0], (Floats{0, 1, 2, 5, 6, 7})) << opset;
    EXPECT_EQ(results[1], (Floats{3, 4, 8, 9})) << opset;
  }
}

// A size, k and a shape from the size of a feed.
TEST(OnnxParts, NumbersMayComeFromTheShapeOfAFeed) {
  ModelBuilder builder(11);
  builder.Input("x", {5});
  builder.Input("like", {-1});
  builder.Node("Shape", {"like"}, {"size"});
  builder.Node("TopK", {"x", "size"}, {"values", ""});
  builder.Node("ConstantOfShape", {"size"}, {"filled"});
  ::onnx::TensorProto& value =
      *builder.graph().mutable_node(2)->add_attribute()->mutable_t();
  builder.graph().mutable_node(2)->mutable_attribute(0)->set_name("value");
  builder.graph().mutable_node(2)->mutable_attribute(0)->set_type(
      ::onnx::AttributeProto::TENSOR);
  value.set_data_type(::onnx::TensorProto::FLOAT);
  value.add_dims(1);
  value.add_float_data(2.5F);
  builder.Ints("start", {1}).clear_dims();
  builder.Ints("step", {2}).clear_dims();
  builder.Node("Range", {"start", "size", "step"}, {"range"});
  SetInt(builder.Node("Cast", {"range"}, {"odd"}), "to",
         ::onnx::TensorProto::FLOAT);
  for (const char* name : {"values", "filled", "odd"}) {
    builder.Output(name);
  }
  const auto results = builder.Run({{5, 1, 4, 2, 3}, {0, 0, 0, 0}});
  EXPECT_EQ(results[0], (Floats{5, 4, 3, 2}));
  EXPECT_EQ(results[1], (Floats{2.5F, 2.5F, 2.5F, 2.5F}));
  EXPECT_EQ(results[2], (Floats{1, 3}));
}

TEST(OnnxParts, SplitRefusesSizesThatDoNotAddUp) {
  const auto refuse = [](const std::vector<int64_t>& sizes, const char* id,
                         const char* part) {
    ModelBuilder builder;
    builder.Input("x", {4});
    builder.Ints("sizes", sizes);
    builder.Node("Split", {"x", "sizes"}, {"a", "b"}, "node_9");
    builder.Output("a");
    builder.Output("b");
    ExpectError(ErrorCode::kInvalidArgument, id, {"node_9", part},
                [&] { builder.Load(); });
  };
  refuse({3, 2}, "onnx.split_sizes", "size 4 along axis 0");
  refuse({4}, "onnx.split_length", "by 1 sizes");
  refuse({5, -1}, "onnx.split_part", "size -1");
  refuse({INT64_MAX, INT64_MAX}, "onnx.split_part", "part of size");
}

TEST(OnnxParts, SplitMakesPartsOfAnOpenSizeEqual) {
  ModelBuilder builder;
  builder.Input("x", {-1});
  builder.Node("Split", {"x"}, {"a", "", "b"});
  builder.Output("a");
  builder.Output("b");
  const auto results = builder.Run({{0, 1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(results[0], (Floats{0, 1, 2}));
  EXPECT_EQ(results[1], (Floats{6}));
}

TEST(OnnxParts, SplitRefusesCountsThatDoNotFit) {
  const auto refuse = [](int64_t count, bool sizes, const char* id,
                         const char* part) {
    ModelBuilder builder(18);
    builder.Input("x", {4});
    auto& split = builder.Node("Split", {"x"}, {"a", "b"}, "node_9");
    SetInt(split, "num_outputs", count);
    if (sizes) {
      builder.Ints("sizes", {2, 2});
      split.add_input("sizes");
    }
    builder.Output("a");
    ExpectError(ErrorCode::kInvalidArgument, id, {"node_9", part},
                [&] { builder.Load(); });
  };
  refuse(1, false, "onnx.split_outputs", "num_outputs is 1, and it has 2");
  refuse(0, false, "onnx.split_outputs", "num_outputs is 0");
  refuse(2, true, "onnx.split_both", "num_outputs, 2, and input 1");
}

// The sizes are those of another input.
TEST(OnnxParts, SplitTakesSizesThatAreComputed) {
  ModelBuilder builder;
  builder.Input("x", {5});
  builder.Input("z", {2, -1});
  builder.Node("Shape", {"z"}, {"sizes"});
  builder.Node("Split", {"x", "sizes"}, {"a", "b"});
  builder.Output("a");
  builder.Output("b");
  const auto results = builder.Run({{0, 1, 2, 3, 4}, Floats(6)});
  EXPECT_EQ(results[0], (Floats{0, 1}));
  EXPECT_EQ(results[1], (Floats{2, 3, 4}));

  ModelBuilder wrong;
  wrong.Input("x", {5});
  wrong.Input("z", {2, 2, -1});
  wrong.Node("Shape", {"z"}, {"sizes"});
  wrong.Node("Split", {"x", "sizes"}, {"a", "b"}, "node_9");
  wrong.Output("a");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.split_count",
              {"node_9", "shape [3]", "2 outputs"}, [&] { wrong.Load(); });
}

TEST(OnnxParts, TopKIsAlongAnyDim) {
  for (const int64_t axis : {1, 0}) {
    ModelBuilder builder(11);
    builder.Input("x", {2, 2});
    builder.Ints("k", {1});
    SetInt(builder.Node("TopK", {"x", "k"}, {"values", "indices"}), "axis",
           axis);
    auto& cast = builder.Node("Cast", {"indices"}, {"y"});
    SetInt(cast, "to", ::onnx::TensorProto::FLOAT);
    builder.Output("values");
    builder.Output("y");
    const auto results = builder.Run({{4, 1, 7, 3}});
    EXPECT_EQ(results[0], axis == 1 ? (Floats{4, 7}) : (Floats{7, 3}));
    EXPECT_EQ(results[1], axis == 1 ? (Floats{0, 0}) : (Floats{1, 1}));
  }
  ModelBuilder many(11);
  many.Input("x", {2, 2});
  many.Ints("k", {1, 1});
  many.Node("TopK", {"x", "k"}, {"values", "indices"}, "node_3");
  many.Output("values");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.top_k",
              {"node_3", "2 elements"}, [&] { many.Load(); });
}

TEST(OnnxParts, TopKOfOldModelsHasKAsAnAttribute) {
  ModelBuilder builder(9);
  builder.Input("x", {3});
  SetInt(builder.Node("TopK", {"x"}, {"values", ""}), "k", 2);
  builder.Output("values");
  EXPECT_EQ(builder.Run({{1, 3, 2}})[0], (Floats{3, 2}));
}

}  // namespace
}  // namespace sluice::testing
