#include <cmath>
#include <functional>
#include <tuple>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/run/executor.h"

namespace sluice::testing {
namespace {

using onnx::OnnxModel;

TEST(OnnxGraph, KeepsNamesShapesAndMetadata) {
  ModelBuilder builder = Small();
  builder.model.set_producer_name("somebody");
  auto* property = builder.model.add_metadata_props();
  property->set_key("character");
  property->set_value("abc");
  const OnnxModel model = builder.Load();
  ASSERT_EQ(model.inputs.size(), 1u);
  EXPECT_EQ(model.inputs[0].name, "x");
  ASSERT_EQ(model.inputs[0].shape.size(), 2u);
  EXPECT_EQ(model.inputs[0].shape[0].size, -1);
  EXPECT_EQ(model.inputs[0].shape[0].symbol, "batch");
  EXPECT_EQ(model.inputs[0].shape[1].size, 2);
  ASSERT_EQ(model.outputs.size(), 1u);
  EXPECT_EQ(model.outputs[0].name, "y");
  EXPECT_EQ(model.outputs[0].shape[1].size, 2);
  EXPECT_EQ(model.metadata.ir_version, 7);
  EXPECT_EQ(model.metadata.producer_name, "somebody");
  EXPECT_EQ(model.metadata.graph_name, "small");
  EXPECT_EQ(model.metadata.opsets[0].second, 13);
  EXPECT_EQ(model.metadata.properties[0].second, "abc");
  EXPECT_EQ(builder.Run({{-1, 2, 3, -4}})[0], std::vector<float>({0, 2, 3, 0}));
}

TEST(OnnxGraph, InitialisersThatAreInputsTooAreParameters) {
  ModelBuilder builder;
  builder.model.set_ir_version(3);
  builder.Input("x", {1, 2});
  builder.Input("w", {2});
  builder.Floats("w", {2}, {10, 20});
  builder.Node("Mul", {"x", "w"}, {"y"});
  builder.Output("y");
  const OnnxModel model = builder.Load();
  EXPECT_EQ(model.inputs.size(), 1u);
  ASSERT_EQ(model.parameters.size(), 1u);
  EXPECT_EQ(model.parameters[0].first, "w");
  EXPECT_TRUE(model.program.FindVar("w").persistable);
  EXPECT_EQ(builder.Run({{1, 2}})[0], std::vector<float>({10, 40}));
}

TEST(OnnxGraph, MayGiveBackAnInitialiserOrAnInput) {
  ModelBuilder builder = Small();
  builder.Floats("w", {2}, {10, 20});
  builder.Output("w");
  EXPECT_EQ(builder.Run({{1, 2}})[1], std::vector<float>({10, 20}));
}

TEST(OnnxGraph, ErrorsOfARunNameTheNode) {
  ModelBuilder builder;
  builder.Input("x", {-1, -1});
  builder.Floats("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  builder.Node("MatMul", {"x", "w"}, {"y"}, "product_7");
  builder.Output("y");
  const OnnxModel model = builder.Load({.name = "net.onnx"});
  Executor executor;
  model.PutParameters(executor.scope());
  ExpectError(ErrorCode::kInvalidArgument, "matmul.depth",
              {"node product_7 (MatMul) of net.onnx"}, [&] {
                executor.Run(
                    model.program,
                    {{"x", Tensor::FromVector<float>({1, 4}, {1, 2, 3, 4})}},
                    {"y"});
              });
}

TEST(OnnxGraph, ShapesThatContradictAreErrorsOfTheNode) {
  ModelBuilder builder;
  builder.Input("x", {1, 4});
  builder.Floats("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  builder.Node("MatMul", {"x", "w"}, {"y"}, "product_7");
  builder.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, "matmul.depth",
              {"node product_7 (MatMul) of the ONNX model"},
              [&] { builder.Load(); });
}

TEST(OnnxGraph, NamesOfOpsInBetweenAreNotTakenFromTheModel) {
  ModelBuilder builder;
  builder.Input("x", {2, 3});
  builder.Floats("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  builder.Floats("b", {2}, {1, 1});
  builder.Node("Gemm", {"x", "w", "b"}, {"y"});
  builder.Node("Relu", {"x"}, {"y.matmul"});
  builder.Output("y");
  builder.Output("y.matmul");
  const auto results = builder.Run({{1, 0, 0, -1, 0, 0}});
  EXPECT_EQ(results[0], std::vector<float>({2, 3, 0, -1}));
  EXPECT_EQ(results[1], std::vector<float>({1, 0, 0, 0, 0, 0}));
}

template <typename Change>
void Refused(const char* id,
             std::initializer_list<std::string_view> fragments,
             Change change) {
  ModelBuilder builder = Small();
  change(builder);
  ExpectError(ErrorCode::kInvalidArgument, id, fragments,
              [&] { builder.Load({.name = "net.onnx"}); });
}

TEST(OnnxGraph, ValuesThatAreMadeTwiceOrNeverAreRefused) {
  Refused("onnx.value_twice",
          {"y is made twice", "node first (Relu)", "node 1 (Abs)", "net.onnx"},
          [](auto& builder) { builder.Node("Abs", {"x"}, {"y"}); });
  Refused("onnx.value_twice", {"an initialiser"}, [](auto& builder) {
    builder.Floats("w", {1}, {1});
    builder.Floats("w", {1}, {1});
  });
  Refused("onnx.value_missing", {"node 1 (Abs)", "xx", "did you mean"},
          [](auto& builder) { builder.Node("Abs", {"xx"}, {"z"}); });
  Refused("onnx.output_missing", {"nothing makes z"},
          [](auto& builder) { builder.Output("z"); });
  Refused("onnx.input_name", {"no name"},
          [](auto& builder) { builder.Input("", {1}); });
  Refused("onnx.initialiser_name", {"no name"},
          [](auto& builder) { builder.Floats("", {1}, {1}); });
}

// An unnamed If whose branches have a node that `change` changes.
void RefusedInABranch(ErrorCode code,
                      const char* id,
                      std::initializer_list<std::string_view> fragments,
                      const std::function<void(::onnx::NodeProto*)>& change) {
  ModelBuilder builder = Small();
  builder.Node("If", {"flag"}, {"z"});
  auto* input = builder.graph().add_input();
  input->set_name("flag");
  input->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::BOOL);
  input->mutable_type()->mutable_tensor_type()->mutable_shape();
  auto* branches = builder.graph().mutable_node(1);
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = branches->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    auto* node = attribute->mutable_g()->add_node();
    node->set_op_type("Abs");
    node->add_input("x");
    node->add_output(std::string("z_") + name);
    attribute->mutable_g()->add_output()->set_name(node->output(0));
    change(node);
  }
  builder.Output("z");
  ExpectError(code, id, fragments, [&] { builder.Load({.name = "net.onnx"}); });
}

TEST(OnnxGraph, ErrorsInGraphsOfNodesSayWhichNodeHasThem) {
  RefusedInABranch(ErrorCode::kInvalidArgument, "onnx.value_missing",
                   {"node 0 (Abs) uses", "in a graph of node 1 (If)"},
                   [](auto* node) { node->set_input(0, "nothing"); });
  RefusedInABranch(ErrorCode::kUnimplemented, "onnx.unsupported",
                   {"node 0 (StringSplit) in node 1 (If): "},
                   [](auto* node) { node->set_op_type("StringSplit"); });
  RefusedInABranch(ErrorCode::kInvalidArgument, "onnx.attribute_unknown",
                   {"node 0 (Abs) in node 1 (If) of net.onnx"}, [](auto* node) {
                     auto* attribute = node->add_attribute();
                     attribute->set_name("alpha");
                     attribute->set_type(::onnx::AttributeProto::FLOAT);
                   });
}

TEST(OnnxGraph, NodesAreSorted) {
  ModelBuilder builder;
  builder.Input("x", {2});
  builder.Node("Add", {"a", "b"}, {"y"});
  builder.Node("Neg", {"a"}, {"b"});
  builder.Node("Exp", {"x"}, {"a"});
  builder.Output("y");
  EXPECT_EQ(builder.Run({{0, 0}})[0], std::vector<float>({0, 0}));
}

// A branch reads what a node after the If makes.
TEST(OnnxGraph, NodesAreSortedByWhatTheirGraphsRead) {
  ModelBuilder builder;
  builder.Input("x", {1});
  builder.Floats("zero", {}, {0});
  builder.Node("Greater", {"x", "zero"}, {"c"});
  auto& node = builder.Node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    auto* graph = attribute->mutable_g();
    graph->set_name(name);
    for (const auto& [type, from, to] : {std::tuple{"Neg", "inner", "out"},
                                         std::tuple{"Exp", "late", "inner"}}) {
      auto* inner = graph->add_node();
      inner->set_op_type(type);
      inner->add_input(from);
      inner->add_output(to);
    }
    graph->add_output()->set_name("out");
  }
  builder.Node("Abs", {"x"}, {"late"});
  builder.Output("y");
  const float e = std::exp(1.0F);
  EXPECT_FLOAT_EQ(builder.Run({{-1}})[0][0], -e);
}

TEST(OnnxGraph, CyclesAreRefused) {
  Refused("onnx.cycle", {"nodes form a cycle", ": node a (Abs), node b (Exp)"},
          [](auto& builder) {
            builder.Node("Neg", {"a"}, {"c"}, "reader");
            builder.Node("Abs", {"b"}, {"a"}, "a");
            builder.Node("Exp", {"a"}, {"b"}, "b");
          });
  Refused("onnx.cycle", {"makes: node self (Abs)"},
          [](auto& builder) { builder.Node("Abs", {"a"}, {"a"}, "self"); });
}

TEST(OnnxGraph, InputsThatAreNoTensorsAreRefused) {
  ModelBuilder builder = Small();
  auto* input = builder.graph().add_input();
  input->set_name("list");
  input->mutable_type()->mutable_map_type();
  const auto refused = [&](std::initializer_list<std::string_view> words) {
    ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported", words,
                [&] { builder.Load(); });
  };
  refused({"1 of the inputs", "input list of the graph is no tensor"});
  input->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::FLOAT);
  auto* shape = input->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < 9; ++i) {
    shape->add_dim()->set_dim_value(1);
  }
  refused({"1 of the inputs", "input list has 9 dims"});
}

// w = {0, 20}.
void AddSparse(::onnx::GraphProto& graph, const std::string& name) {
  auto* sparse = graph.add_sparse_initializer();
  sparse->add_dims(2);
  sparse->mutable_values()->set_name(name);
  sparse->mutable_values()->set_data_type(::onnx::TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(1);
  sparse->mutable_values()->add_float_data(20);
  sparse->mutable_indices()->set_data_type(::onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(1);
  sparse->mutable_indices()->add_int64_data(1);
}

TEST(OnnxGraph, SparseInitialisersAreMadeDense) {
  ModelBuilder builder = Small();
  AddSparse(builder.graph(), "w");
  AddSparse(builder.graph(), "v");
  builder.Node("Add", {"y", "w"}, {"z"});
  builder.Node("Mul", {"z", "v"}, {"out"});
  builder.Output("out");
  builder.Output("w");
  const OnnxModel model = builder.Load();
  EXPECT_TRUE(model.program.FindVar("w").persistable);
  const auto results = builder.Run({{1, 2}});
  EXPECT_EQ(results[1], std::vector<float>({0, 440}));
  EXPECT_EQ(results[2], std::vector<float>({0, 20}));
}

// Like a dense one, it is a parameter and not a feed.
TEST(OnnxGraph, SparseInitialisersMayBeInputs) {
  ModelBuilder builder;
  builder.Input("w", {2});
  builder.Input("x", {2});
  AddSparse(builder.graph(), "w");
  builder.Node("Add", {"x", "w"}, {"y"});
  builder.Output("y");
  const OnnxModel model = builder.Load();
  ASSERT_EQ(model.inputs.size(), 1u);
  EXPECT_EQ(model.inputs[0].name, "x");
  builder.graph().mutable_input()->DeleteSubrange(0, 1);
  EXPECT_EQ(builder.Run({{1, 2}})[0], std::vector<float>({1, 22}));
}

// A body's input has the value that is passed to it.
TEST(OnnxGraph, SparseInitialisersOfABodyAreNotItsInputs) {
  ModelBuilder builder(16);
  builder.Input("x", {2});
  builder.Ints("times", {3}).clear_dims();
  auto& loop = builder.Node("Loop", {"times", "", "x"}, {"y"});
  auto* attribute = loop.add_attribute();
  attribute->set_name("body");
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  ModelBuilder body(16);
  body.Input("w", {2});
  AddSparse(body.graph(), "w");
  body.Node("Add", {"w", "w"}, {"sum"});
  ::onnx::GraphProto& graph = *attribute->mutable_g();
  graph = body.graph();
  graph.clear_input();
  for (const auto& [name, type] : {std::pair("i", ::onnx::TensorProto::INT64),
                                   {"go", ::onnx::TensorProto::BOOL}}) {
    auto* input = graph.add_input();
    input->set_name(name);
    input->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    input->mutable_type()->mutable_tensor_type()->mutable_shape();
  }
  *graph.add_input() = body.graph().input(0);
  graph.add_output()->set_name("go");
  graph.add_output()->set_name("sum");
  builder.Output("y");
  EXPECT_EQ(builder.Run({{1, 2}})[0], std::vector<float>({8, 16}));
}

TEST(OnnxGraph, SparseInitialisersOfABranchAreMadeDense) {
  ModelBuilder builder(16);
  builder.Input("x", {2});
  auto* condition = builder.graph().add_input();
  condition->set_name("yes");
  condition->mutable_type()->mutable_tensor_type()->set_elem_type(
      ::onnx::TensorProto::BOOL);
  condition->mutable_type()->mutable_tensor_type()->mutable_shape();
  auto& node = builder.Node("If", {"yes"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(branch);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    ::onnx::GraphProto& graph = *attribute->mutable_g();
    AddSparse(graph, "w");
    auto* add = graph.add_node();
    add->set_op_type(*branch == 't' ? "Add" : "Mul");
    add->add_input("x");
    add->add_input("w");
    add->add_output("sum");
    graph.add_output()->set_name("sum");
  }
  builder.Output("y");
  const OnnxModel model = builder.Load();
  Executor executor;
  model.PutParameters(executor.scope());
  const auto x = Tensor::FromVector<float>({2}, {1, 2});
  for (const bool yes : {true, false}) {
    const auto flag = Tensor::FromVector<bool>({}, {yes});
    const auto results =
        executor.Run(model.program, {{"x", x}, {"yes", flag}}, {"y"});
    EXPECT_EQ(results[0].ToVector<float>(),
              yes ? std::vector<float>({1, 22}) : std::vector<float>({0, 40}));
  }
}

TEST(OnnxGraph, WrongSparseInitialisersAreRefused) {
  ModelBuilder builder = Small();
  AddSparse(builder.graph(), "");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.sparse_initialiser",
              {"sparse initialiser", "no name"}, [&] { builder.Load(); });
  Refused("onnx.value_twice", {"value w is made twice"}, [](auto& builder) {
    AddSparse(builder.graph(), "w");
    AddSparse(builder.graph(), "w");
  });
  Refused("onnx.sparse_index", {"w (Constant)", "index 1; expected 0 to 0"},
          [](auto& builder) {
            AddSparse(builder.graph(), "w");
            builder.graph().mutable_sparse_initializer(0)->set_dims(0, 1);
          });
}

}  // namespace
}  // namespace sluice::testing
