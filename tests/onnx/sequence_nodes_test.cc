#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {
namespace {

using sluice::testing::ExpectError;
using sluice::testing::ModelBuilder;
using sluice::testing::SetInt;
using Floats = std::vector<std::vector<float>>;

// The sequence [a, b, c] of tensors [2], and a test's additions.
ModelBuilder Three() {
  ModelBuilder builder;
  for (const char* name : {"a", "b", "c"}) {
    builder.Input(name, {2});
  }
  builder.Node("SequenceConstruct", {"a", "b", "c"}, {"list"});
  builder.Output("y");
  return builder;
}

Floats RunThree(const ModelBuilder& builder) {
  return builder.Run({{1, 2}, {3, 4}, {5, 6}});
}

TEST(OnnxSequences, AtCountsFromBothEnds) {
  for (const auto& [position, want] :
       std::vector<std::pair<int64_t, std::vector<float>>>{
           {0, {1, 2}}, {2, {5, 6}}, {-1, {5, 6}}, {-3, {1, 2}}}) {
    ModelBuilder builder = Three();
    builder.Ints("position", {position});
    builder.Node("SequenceAt", {"list", "position"}, {"y"});
    EXPECT_EQ(RunThree(builder), Floats{want}) << position;
  }
}

TEST(OnnxSequences, InsertAndEraseChangeACopy) {
  ModelBuilder builder = Three();
  builder.Ints("first", {-3});
  builder.Ints("second", {1});
  builder.Ints("end", {3});
  builder.Node("SequenceInsert", {"list", "c", "first"}, {"longer"});
  builder.Node("SequenceErase", {"longer", "second"}, {"erased"});
  builder.Node("SequenceErase", {"erased"}, {"shorter"});
  builder.Node("SequenceInsert", {"shorter", "a"}, {"at_end"});
  builder.Node("SequenceInsert", {"at_end", "b", "end"}, {"last"});
  auto& concat = builder.Node("ConcatFromSequence", {"last"}, {"y"});
  SetInt(concat, "axis", 0);
  EXPECT_EQ(RunThree(builder), (Floats{{5, 6, 3, 4, 1, 2, 3, 4}}));
  // The first one must not change.
  auto& length = builder.Node("SequenceLength", {"list"}, {"z"});
  static_cast<void>(length);
  builder.Output("z");
  EXPECT_EQ(builder.Load().program.FindVar("z").dims, DDim{});
}

TEST(OnnxSequences, ConcatAlongANewDim) {
  for (const int64_t axis : {1, -1}) {
    ModelBuilder builder = Three();
    auto& concat = builder.Node("ConcatFromSequence", {"list"}, {"y"});
    SetInt(concat, "axis", axis);
    SetInt(concat, "new_axis", 1);
    EXPECT_EQ(RunThree(builder), (Floats{{1, 3, 5, 2, 4, 6}}));
  }
}

// The last part of a split is smaller.
TEST(OnnxSequences, SplitsByASizeBySizesAndByOne) {
  for (const int64_t position : {0, 1}) {
    ModelBuilder builder;
    builder.Input("x", {3, 2});
    builder.Ints("size", {2}).clear_dims();
    builder.Ints("position", {position});
    builder.Node("SplitToSequence", {"x", "size"}, {"list"});
    builder.Node("Identity", {"list"}, {"same"});
    builder.Node("SequenceAt", {"same", "position"}, {"y"});
    builder.Output("y");
    EXPECT_EQ(builder.Run({{1, 2, 3, 4, 5, 6}}),
              position == 0 ? (Floats{{1, 2, 3, 4}}) : (Floats{{5, 6}}));
  }
  ModelBuilder sizes;
  sizes.Input("x", {-1, 2});
  sizes.Ints("sizes", {1, 0, 2});
  sizes.Ints("position", {2});
  sizes.Node("SplitToSequence", {"x", "sizes"}, {"list"});
  sizes.Node("SequenceAt", {"list", "position"}, {"y"});
  sizes.Output("y");
  EXPECT_EQ(sizes.Run({{1, 2, 3, 4, 5, 6}}), (Floats{{3, 4, 5, 6}}));
  ModelBuilder ones;
  ones.Input("x", {3, 2});
  ones.Ints("position", {1});
  auto& split = ones.Node("SplitToSequence", {"x"}, {"list"});
  SetInt(split, "axis", 1);
  SetInt(split, "keepdims", 0);
  ones.Node("SequenceAt", {"list", "position"}, {"y"});
  ones.Output("y");
  EXPECT_EQ(ones.Run({{1, 2, 3, 4, 5, 6}}), (Floats{{2, 4, 6}}));
  EXPECT_EQ(ones.Load().program.FindVar("y").dims, DDim{3});
}

// Whether the input and the sizes are constants.
TEST(OnnxSequences, PartsAreThoseOfTheirAxis) {
  struct Case {
    int64_t axis;
    bool keeps;
    std::vector<int64_t> sizes;
    std::vector<float> want;
    DDim dims;
  };
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  for (const Case& c : std::vector<Case>{
           {0, true, {}, {4, 5, 6}, {1, 3}},
           {1, true, {}, {2, 5}, {2, 1}},
           {1, false, {}, {2, 5}, {2}},
           {-2, false, {}, {4, 5, 6}, {3}},
           {1, true, {1, 2}, {2, 3, 5, 6}, {2, 2}},
           {1, true, {3, 0}, {}, {2, 0}},
       }) {
    for (const bool constant : {false, true}) {
      ModelBuilder builder;
      if (constant) {
        builder.Floats("x", {2, 3}, values);
      } else {
        builder.Input("x", {2, 3});
      }
      builder.Ints("position", {1});
      auto& split = builder.Node("SplitToSequence", {"x"}, {"list"});
      SetInt(split, "axis", c.axis);
      SetInt(split, "keepdims", c.keeps ? 1 : 0);
      if (!c.sizes.empty()) {
        builder.Ints("sizes", c.sizes);
        split.add_input("sizes");
      }
      builder.Node("SequenceAt", {"list", "position"}, {"y"});
      builder.Output("y");
      const auto feeds = constant ? Floats() : Floats{values};
      EXPECT_EQ(builder.Run(feeds), Floats{c.want});
      EXPECT_EQ(builder.Load().program.FindVar("y").dims, c.dims);
    }
  }
}

TEST(OnnxSequences, RefusesSizesThatAreNotThoseOfTheDim) {
  for (const auto& [sizes, id] :
       std::vector<std::pair<std::vector<int64_t>, const char*>>{
           {{1, 1}, "onnx.split_sizes"}, {{3, -1}, "onnx.split_part"}}) {
    ModelBuilder builder;
    builder.Input("x", {3});
    builder.Ints("sizes", sizes);
    builder.Node("SplitToSequence", {"x", "sizes"}, {"list"}, "cut");
    builder.Node("SequenceLength", {"list"}, {"y"});
    builder.Output("y");
    ExpectError(ErrorCode::kInvalidArgument, id, {"cut"},
                [&] { builder.Load(); });
  }
}

TEST(OnnxSequences, RefusesPositionsThatAreNone) {
  for (const int64_t position : {3, -4}) {
    ModelBuilder builder = Three();
    builder.Ints("position", {position});
    builder.Node("SequenceAt", {"list", "position"}, {"y"}, "pick");
    ExpectError(ErrorCode::kInvalidArgument, "onnx.sequence_position",
                {"sequence of 3 tensors", "pick"}, [&] { builder.Load(); });
  }
  ModelBuilder two = Three();
  two.Ints("position", {1, 2});
  two.Node("SequenceAt", {"list", "position"}, {"y"});
  ExpectError(ErrorCode::kInvalidArgument, "onnx.known_number", {"2 numbers"},
              [&] { two.Load(); });
}

TEST(OnnxSequences, RefusesWhatNeedsATensor) {
  ModelBuilder empty = Three();
  empty.Node("SequenceEmpty", {}, {"none"});
  empty.Node("SequenceErase", {"none"}, {"fewer"});
  empty.Node("SequenceLength", {"fewer"}, {"y"});
  ExpectError(ErrorCode::kInvalidArgument, "onnx.sequence_empty",
              {"no tensors"}, [&] { empty.Load(); });
  ModelBuilder concat = Three();
  concat.Node("SequenceEmpty", {}, {"none"});
  SetInt(concat.Node("ConcatFromSequence", {"none"}, {"y"}), "axis", 0);
  ExpectError(ErrorCode::kInvalidArgument, "onnx.sequence_concat",
              {"no tensors"}, [&] { concat.Load(); });
  ModelBuilder part;
  part.Input("x", {3});
  part.Ints("size", {0}).clear_dims();
  part.Node("SplitToSequence", {"x", "size"}, {"list"});
  part.Node("SequenceLength", {"list"}, {"y"});
  part.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.sequence_part", {"size 0"},
              [&] { part.Load(); });
}

TEST(OnnxSequences, OtherOperatorsTakeTensors) {
  ModelBuilder relu = Three();
  relu.Node("Relu", {"list"}, {"y"});
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"Relu", "list is a sequence of tensors"}, [&] { relu.Load(); });
  ModelBuilder at = Three();
  at.Ints("position", {0});
  at.Node("SequenceAt", {"a", "position"}, {"y"});
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"SequenceAt", "input 0 is a tensor"}, [&] { at.Load(); });
}

TEST(OnnxSequences, InputsHaveAsManyTensorsAsTheCallerSays) {
  ModelBuilder builder;
  auto* list = builder.graph().add_input();
  list->set_name("list");
  list->mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(::onnx::TensorProto::FLOAT);
  builder.Node("Identity", {"list"}, {"y"});
  builder.Output("y");
  const auto load = [&](const std::string& name, int64_t length) {
    return builder.Load({.sequence_lengths = {{name, length}}});
  };
  const onnx::OnnxModel model = load("list", 2);
  ASSERT_EQ(model.inputs.size(), 2U);
  EXPECT_EQ(model.inputs[1].name, "list[1]");
  ASSERT_EQ(model.outputs.size(), 2U);
  EXPECT_EQ(model.outputs[0].name, "y[0]");
  EXPECT_TRUE(load("list", 0).outputs.empty());
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"input list of the graph is a sequence", "sequence_lengths"},
              [&] { builder.Load(); });
  ExpectError(ErrorCode::kInvalidArgument, "onnx.sequence_input",
              {"names lists"}, [&] { load("lists", 2); });
  ExpectError(ErrorCode::kInvalidArgument, "onnx.sequence_input_length",
              {"-1 tensors for list"}, [&] { load("list", -1); });
}

TEST(OnnxSequences, OptionalInputsAreFedOrAbsent) {
  ModelBuilder builder(15);
  builder.Input("x", {2});
  auto* input = builder.graph().add_input();
  input->set_name("maybe");
  *input->mutable_type()->mutable_optional_type()->mutable_elem_type() =
      builder.graph().input(0).type();
  builder.Node("OptionalHasElement", {"maybe"}, {"y"});
  builder.Output("y");
  const auto has = [&](const onnx::OnnxOptions& options) {
    const onnx::OnnxModel model = builder.Load(options);
    Executor executor;
    Feeds feeds;
    for (const onnx::OnnxValue& value : model.inputs) {
      feeds.emplace_back(value.name, Tensor::FromVector<float>({2}, {1, 2}));
    }
    return executor.Run(model.program, feeds, {"y"})[0].data<bool>()[0];
  };
  EXPECT_TRUE(has({}));
  EXPECT_FALSE(has({.absent_inputs = {"maybe"}}));
  ExpectError(ErrorCode::kInvalidArgument, "onnx.absent_input", {"names x"},
              [&] { has({.absent_inputs = {"x"}}); });
}

TEST(OnnxSequences, APositionIsGivenWhileTheModelIsRead) {
  ModelBuilder builder = Three();
  auto* input = builder.graph().add_input();
  input->set_name("position");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::INT64);
  type->mutable_shape();
  builder.Node("SequenceAt", {"list", "position"}, {"y"});
  ExpectError(ErrorCode::kUnimplemented, "onnx.late_sequence",
              {"its position (position)", "when the model runs"},
              [&] { builder.Load(); });
  const auto load = [&](Tensor value) {
    return builder.Load({.initialisers = {{"position", std::move(value)}}});
  };
  const onnx::OnnxModel model = load(Tensor::FromVector<int64_t>({}, {-1}));
  EXPECT_EQ(model.inputs.size(), 3U);
  EXPECT_EQ(model.replaced, std::vector<std::string>{"position"});
  EXPECT_EQ(model.program.block().ops[0].Input("X")[0], "c");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.given_input",
              {"input position is int64 []", "int64 [1]"},
              [&] { load(Tensor::FromVector<int64_t>({1}, {0})); });
}

TEST(OnnxSequences, ALengthThatIsKnownLateIsNamed) {
  ModelBuilder builder;
  builder.Input("x", {-1, 2});
  builder.Node("SplitToSequence", {"x"}, {"list"});
  builder.Node("SequenceLength", {"list"}, {"y"});
  builder.Output("y");
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"SplitToSequence", "dim 0", "only when the model runs"},
              [&] { builder.Load(); });
}

// y = sum(a * a * b), and its gradients.
ModelBuilder Gradients(const std::string& second_input) {
  ModelBuilder builder;
  builder.Input("a", {2});
  builder.Input("b", {2});
  builder.Node("Mul", {"a", "a"}, {"square"});
  builder.Node("Mul", {"square", "b"}, {"product"});
  auto& sum = builder.Node("ReduceSum", {"product"}, {"total"});
  SetInt(sum, "keepdims", 0);
  auto& gradient = builder.Node("Gradient", {"a", second_input}, {"da", "db"});
  gradient.set_domain("ai.onnx.preview.training");
  auto* xs = gradient.add_attribute();
  xs->set_name("xs");
  xs->set_type(::onnx::AttributeProto::STRINGS);
  xs->add_strings("a");
  xs->add_strings("b");
  sluice::testing::SetString(gradient, "y", "total");
  builder.Output("da");
  builder.Output("db");
  return builder;
}

TEST(OnnxGradients, AreThoseOfTheNodesBefore) {
  EXPECT_EQ(Gradients("b").Run({{1, 2}, {3, 4}}), (Floats{{6, 16}, {1, 4}}));
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"Gradient", "input 1 is not the value that xs"},
              [] { Gradients("square").Load(); });
  ModelBuilder more = Gradients("b");
  more.graph().mutable_node(3)->add_output("dc");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.gradient_outputs",
              {"Gradient", "3 outputs", "names 2 values"},
              [&] { more.Load(); });
}

}  // namespace
}  // namespace sluice::onnx
