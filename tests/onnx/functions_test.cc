// Functions that are part of a model.
#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/run/executor.h"

namespace sluice::testing {
namespace {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

FunctionProto& Function(ModelBuilder& builder,
                        const std::string& name,
                        std::initializer_list<std::string> inputs,
                        std::initializer_list<std::string> outputs) {
  FunctionProto& function = *builder.model.add_functions();
  function.set_domain("mine");
  function.set_name(name);
  for (const std::string& input : inputs)
    function.add_input(input);
  for (const std::string& output : outputs)
    function.add_output(output);
  auto* opset = function.add_opset_import();
  opset->set_version(builder.model.opset_import(0).version());
  return function;
}

NodeProto& Node(FunctionProto& function,
                const std::string& type,
                std::initializer_list<std::string> inputs,
                std::initializer_list<std::string> outputs) {
  NodeProto& node = *function.add_node();
  node.set_op_type(type);
  for (const std::string& input : inputs)
    node.add_input(input);
  for (const std::string& output : outputs)
    node.add_output(output);
  return node;
}

NodeProto& Call(ModelBuilder& builder,
                const std::string& function,
                std::initializer_list<std::string> inputs,
                std::initializer_list<std::string> outputs,
                const std::string& name = "") {
  NodeProto& node = builder.Node(function, inputs, outputs, name);
  node.set_domain("mine");
  return node;
}

void Refer(NodeProto& node,
           const std::string& attribute,
           int type,
           const std::string& to) {
  AttributeProto& added = *node.add_attribute();
  added.set_name(attribute);
  added.set_type(static_cast<AttributeProto::AttributeType>(type));
  added.set_ref_attr_name(to);
}

// twice(a, b) = (a + b) * 2, whose inner names are those of the graph around.
FunctionProto& Twice(ModelBuilder& builder) {
  FunctionProto& function = Function(builder, "twice", {"a", "b"}, {"y"});
  Node(function, "Add", {"a", "b"}, {"x"});
  Node(function, "Add", {"x", "x"}, {"y"}).set_name("double");
  return function;
}

ModelBuilder OneInput() {
  ModelBuilder builder;
  builder.Input("x", {-1, 2});
  builder.Floats("w", {2}, {10, 20});
  return builder;
}

TEST(OnnxFunctions, StandInThePlaceOfTheirCalls) {
  ModelBuilder builder = OneInput();
  Twice(builder);
  Call(builder, "twice", {"x", "w"}, {"once"}, "first");
  Call(builder, "twice", {"once", "x"}, {"out"});
  builder.Output("out");
  EXPECT_EQ(builder.Run({{1, 2}})[0], std::vector<float>({46, 92}));
  const onnx::OnnxModel model = builder.Load({.name = "net.onnx"});
  const auto& ops = model.program.block().ops;
  ASSERT_EQ(ops.size(), 4u);
  EXPECT_EQ(ops[0].Output("Out")[0], "first/x");
  EXPECT_EQ(ops[1].Output("Out")[0], "once");
  EXPECT_EQ(ops[1].location.file, "node first/double (Add) of net.onnx");
  EXPECT_EQ(ops[2].Output("Out")[0], "twice_1/x");
  EXPECT_EQ(ops[2].location.file, "node twice_1/Add_0 (Add) of net.onnx");
}

TEST(OnnxFunctions, CallOneAnotherAlsoInSubgraphs) {
  ModelBuilder builder = OneInput();
  Twice(builder);
  // choose(c, a) = if c then twice(a, a) else a, with its own names.
  FunctionProto& choose = Function(builder, "choose", {"c", "a"}, {"y"});
  NodeProto& branch = Node(choose, "If", {"c"}, {"y"});
  for (const char* which : {"then_branch", "else_branch"}) {
    AttributeProto& attribute = *branch.add_attribute();
    attribute.set_name(which);
    attribute.set_type(AttributeProto::GRAPH);
    ::onnx::GraphProto& graph = *attribute.mutable_g();
    graph.set_name(which);
    NodeProto& node = *graph.add_node();
    graph.add_output()->set_name("x");
    node.add_output("x");
    node.add_input("a");
    if (which[0] == 'e') {
      node.set_op_type("Neg");
    } else {
      node.set_op_type("twice");
      node.set_domain("mine");
      node.add_input("a");
    }
  }
  builder.Node("ReduceMax", {"x"}, {"most"});
  builder.Floats("zero", {}, {0});
  builder.Node("Greater", {"most", "zero"}, {"positive"});
  Call(builder, "choose", {"positive", "x"}, {"out"}, "here");
  builder.Output("out");
  EXPECT_EQ(builder.Run({{1, 2}})[0], std::vector<float>({4, 8}));
  EXPECT_EQ(builder.Run({{-1, -2}})[0], std::vector<float>({1, 2}));
}

TEST(OnnxFunctions, TakeAttributesOfTheCallAndDefaults) {
  ModelBuilder builder = OneInput();
  FunctionProto& leak = Function(builder, "leak", {"a"}, {"y"});
  AttributeProto& slope = *leak.add_attribute_proto();
  slope.set_name("slope");
  slope.set_type(AttributeProto::FLOAT);
  slope.set_f(0.5F);
  Refer(Node(leak, "LeakyRelu", {"a"}, {"y"}), "alpha", AttributeProto::FLOAT,
        "slope");
  FunctionProto& flat = Function(builder, "flat", {"a"}, {"y"});
  flat.add_attribute("axis");
  Refer(Node(flat, "Flatten", {"a"}, {"y"}), "axis", AttributeProto::INT,
        "axis");
  Call(builder, "leak", {"x"}, {"half"});
  SetFloat(Call(builder, "leak", {"x"}, {"quarter"}), "slope", 0.25F);
  SetInt(Call(builder, "flat", {"x"}, {"row"}), "axis", 0);
  Call(builder, "flat", {"x"}, {"rows"});  // Flatten's own default
  for (const char* name : {"half", "quarter", "row", "rows"}) {
    builder.Output(name);
  }
  const auto results = builder.Run({{-4, 8, -8, 4}});
  EXPECT_EQ(results[0], std::vector<float>({-2, 8, -4, 4}));
  EXPECT_EQ(results[1], std::vector<float>({-1, 8, -2, 4}));
  const onnx::OnnxModel model = builder.Load();
  EXPECT_EQ(model.program.FindVar("row").dims[0], 1);
  EXPECT_EQ(model.program.FindVar("rows").dims[1], 2);
}

TEST(OnnxFunctions, MayLeaveOutInputsAndOutputsAndHandInputsOn) {
  ModelBuilder builder = OneInput();
  FunctionProto& clip = Function(builder, "clip", {"a", "low", "high"},
                                 {"a", "y", "y", "unread"});
  Node(clip, "Clip", {"a", "low", "high"}, {"y"});
  Node(clip, "Neg", {"y"}, {"unread"});
  builder.Floats("one", {}, {1});
  Call(builder, "clip", {"x", "", "one"}, {"same", "clipped", "again"});
  // No node reads the omitted input, which is also an output.
  FunctionProto& both = Function(builder, "both", {"a", "rest"}, {"rest", "y"});
  Node(both, "Neg", {"a"}, {"y"});
  Call(builder, "both", {"x"}, {"nothing", "negative"});
  builder.Output("negative");
  for (const char* name : {"same", "clipped", "again"})
    builder.Output(name);
  const auto results = builder.Run({{-4, 8}});
  EXPECT_EQ(results[0], std::vector<float>({4, -8}));
  EXPECT_EQ(results[1], std::vector<float>({-4, 8}));
  EXPECT_EQ(results[2], std::vector<float>({-4, 1}));
  EXPECT_EQ(results[3], std::vector<float>({-4, 1}));
  builder.Output("nothing");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.output_missing",
              {"nothing makes nothing"}, [&] { builder.Load(); });
}

TEST(OnnxFunctions, ComeBeforeOperatorsOfTheirName) {
  ModelBuilder builder = OneInput();
  FunctionProto& relu = Function(builder, "Relu", {"a"}, {"y"});
  relu.set_domain("");
  Node(relu, "Neg", {"a"}, {"y"});
  builder.Node("Relu", {"x"}, {"out"});
  builder.Output("out");
  EXPECT_EQ(builder.Run({{1, -2}})[0], std::vector<float>({-1, 2}));
}

TEST(OnnxFunctions, HandInputsOnWhateverIdentityIs) {
  ModelBuilder builder = OneInput();
  FunctionProto& identity = Function(builder, "Identity", {"a"}, {"y"});
  identity.set_domain("");
  Node(identity, "Neg", {"a"}, {"y"});
  Function(builder, "pass", {"a"}, {"a"});
  Call(builder, "pass", {"x"}, {"out"});
  // A value whose name could be that of the added Identity.
  Node(Function(builder, "odd", {"a"}, {"a", "\n0"}), "Neg", {"a"}, {"\n0"});
  Call(builder, "odd", {"x"}, {"same", "negative"});
  for (const char* name : {"out", "same", "negative"})
    builder.Output(name);
  const auto results = builder.Run({{1, -2}});
  EXPECT_EQ(results[0], std::vector<float>({1, -2}));
  EXPECT_EQ(results[1], std::vector<float>({1, -2}));
  EXPECT_EQ(results[2], std::vector<float>({-1, 2}));
}

TEST(OnnxFunctions, MaySayWhichOpsetTheModelIsOf) {
  ModelBuilder builder = OneInput();
  Twice(builder);
  Call(builder, "twice", {"x", "w"}, {"out"});
  builder.Output("out");
  builder.model.mutable_opset_import(0)->set_domain("mine");
  EXPECT_EQ(builder.Run({{1, 2}})[0], std::vector<float>({22, 44}));
}

TEST(OnnxFunctions, ThatNobodyCallsMayBeAnything) {
  ModelBuilder builder = OneInput();
  Node(Function(builder, "lost", {"a"}, {"y"}), "Neg", {"nowhere"}, {"z"});
  builder.Node("Neg", {"x"}, {"out"});
  builder.Output("out");
  EXPECT_EQ(builder.Run({{1, 2}})[0], std::vector<float>({-1, -2}));
}

// Up to opset 10, Clip has its bounds as attributes.
TEST(OnnxFunctions, KeepTheirOpset) {
  ModelBuilder builder = OneInput();
  FunctionProto& cut = Function(builder, "cut", {"a"}, {"y"});
  SetFloat(Node(cut, "Clip", {"a"}, {"y"}), "max", 1.5F);
  cut.mutable_opset_import(0)->set_version(10);
  Call(builder, "cut", {"x"}, {"out"});
  builder.Output("out");
  EXPECT_EQ(builder.Run({{1, 2}})[0], std::vector<float>({1, 1.5F}));
  cut.mutable_opset_import(0)->set_version(1000);
  ExpectError(ErrorCode::kUnimplemented, "onnx.function_opset",
              {"function mine.cut", "opset 1000", "reads 1 to 28"},
              [&] { builder.Load(); });
}

TEST(OnnxFunctions, NodesOfTheirsThatAreUnknownAreListed) {
  ModelBuilder builder = OneInput();
  Node(Function(builder, "odd", {"a"}, {"y"}), "ImageDecoder", {"a"}, {"y"});
  Call(builder, "odd", {"x"}, {"out"}, "here");
  builder.Output("out");
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"node here/ImageDecoder_0 (ImageDecoder): there is no such "
               "operator"},
              [&] { builder.Load(); });
}

TEST(OnnxFunctions, ThatTheModelDoesNotHaveAreSuggested) {
  ModelBuilder builder = OneInput();
  Twice(builder);
  // Errors in both branches are all listed.
  builder.Floats("zero", {}, {0});
  builder.Node("ReduceMax", {"x"}, {"most"});
  SetInt(*builder.graph().mutable_node(0), "keepdims", 0);
  builder.Node("Greater", {"most", "zero"}, {"positive"});
  NodeProto& branch = builder.Node("If", {"positive"}, {"y"});
  for (const char* which : {"then_branch", "else_branch"}) {
    AttributeProto& attribute = *branch.add_attribute();
    attribute.set_name(which);
    attribute.set_type(AttributeProto::GRAPH);
    NodeProto& node = *attribute.mutable_g()->add_node();
    attribute.mutable_g()->add_output()->set_name(which);
    node.set_op_type(which[0] == 't' ? "Twice" : "twice");
    node.set_domain(which[0] == 't' ? "mine" : "");
    node.add_input("x");
    node.add_input("x");
    node.add_output(which);
  }
  builder.Output("y");
  ExpectError(ErrorCode::kUnimplemented, "onnx.unsupported",
              {"the model has no function Twice of domain mine; did you mean "
               "twice?",
               "node 0 (twice) in node 2 (If): there is no such operator in "
               "Sluice yet; the "
               "model has a function of this name, of domain mine"},
              [&] { builder.Load(); });
}

// A model with one function, changed by `change`, and one call of it.
template <typename Change>
void ExpectRefused(ErrorCode code,
                   const char* check,
                   std::initializer_list<std::string_view> texts,
                   const Change& change) {
  ModelBuilder builder = OneInput();
  FunctionProto& function = Twice(builder);
  NodeProto& call = Call(builder, "twice", {"x", "w"}, {"out"}, "here");
  builder.Output("out");
  change(builder, function, call);
  ExpectError(code, check, texts, [&] { builder.Load(); });
}

TEST(OnnxFunctions, BadOnesAreRefused) {
  const ErrorCode bad = ErrorCode::kInvalidArgument;
  ExpectRefused(bad, "onnx.function_twice", {"has function mine.twice twice"},
                [](ModelBuilder& builder, auto&, auto&) { Twice(builder); });
  ExpectRefused(bad, "onnx.value_missing",
                {"uses value w, which nothing makes", "in function mine.twice"},
                [](auto&, FunctionProto& function, auto&) {
                  Node(function, "Neg", {"w"}, {"z"});
                });
  ExpectRefused(bad, "onnx.function_cycle",
                {"function mine.twice calls itself", "here"},
                [](auto&, FunctionProto& function, auto&) {
                  NodeProto& node = Node(function, "twice", {"x", "x"}, {"z"});
                  node.set_domain("mine");
                });
  ExpectRefused(bad, "onnx.function_call",
                {"has 2 inputs and 1 outputs", "called with 3 and 1",
                 "in node here (twice)"},
                [](auto&, auto&, NodeProto& call) { call.add_input("x"); });
  ExpectRefused(
      bad, "onnx.function_attribute",
      {"function mine.twice has no attribute factor"},
      [](auto&, auto&, NodeProto& call) { SetInt(call, "factor", 3); });
  ExpectRefused(bad, "onnx.function_reference",
                {"attribute axis refers to where"},
                [](auto&, FunctionProto& function, auto&) {
                  Refer(Node(function, "Flatten", {"x"}, {"z"}), "axis",
                        AttributeProto::INT, "where");
                });
}

TEST(OnnxFunctions, ThatGrowWithoutEndAreRefused) {
  // Each function calls the previous one twice: 2^40 nodes.
  ModelBuilder builder = OneInput();
  Twice(builder);
  std::string last = "twice";
  for (int i = 0; i < 40; ++i) {
    const std::string name = "f" + std::to_string(i);
    FunctionProto& next = Function(builder, name, {"a", "b"}, {"y"});
    Node(next, last, {"a", "b"}, {"h"}).set_domain("mine");
    Node(next, last, {"h", "b"}, {"y"}).set_domain("mine");
    last = name;
  }
  Call(builder, last, {"x", "w"}, {"out"});
  builder.Output("out");
  ExpectError(ErrorCode::kResourceExhausted, "onnx.import_memory",
              {"functions, in the place of their calls", "memory_bytes"},
              [&] { builder.Load(); });
}

// Small files that grow by arguments of calls.
TEST(OnnxFunctions, ThatGrowByAttributesAndNamesAreRefused) {
  const auto expect_refused = [](const ModelBuilder& builder) {
    ExpectError(ErrorCode::kResourceExhausted, "onnx.import_memory",
                {"functions, in the place of their calls", "memory_bytes"},
                [&] { builder.Load(); });
  };
  // A tensor of 1 MB, 2,000 times.
  ModelBuilder tensors = OneInput();
  FunctionProto& many = Function(tensors, "many", {"a"}, {"y"});
  many.add_attribute("value");
  for (int i = 0; i < 2000; ++i) {
    Refer(Node(many, "Constant", {}, {"c" + std::to_string(i)}), "value",
          AttributeProto::TENSOR, "value");
  }
  Node(many, "Neg", {"a"}, {"y"});
  AttributeProto& value =
      *Call(tensors, "many", {"x"}, {"out"}).add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(::onnx::TensorProto::FLOAT);
  value.mutable_t()->add_dims(1 << 18);
  value.mutable_t()->set_raw_data(std::string(size_t{1} << 20, '\0'));
  tensors.Output("out");
  expect_refused(tensors);
  // A name of 100,000 letters, 20,000 times: of the call, and of its input.
  for (const bool input : {false, true}) {
    ModelBuilder names = OneInput();
    const std::string name(100'000, 'n');
    FunctionProto& steps = Function(names, "steps", {"a"}, {"y"});
    for (int i = 0; i < 20'000; ++i) {
      Node(steps, "Neg", {"a"}, {"n" + std::to_string(i)});
    }
    Node(steps, "Neg", {"a"}, {"y"});
    names.Node("Neg", {"x"}, {input ? name : "less"});
    Call(names, "steps", {input ? name : "less"}, {"out"}, input ? "" : name);
    names.Output("out");
    expect_refused(names);
  }
  // Each level passes a graph that contains the previous one 16 times.
  ModelBuilder graphs = OneInput();
  FunctionProto& first = Function(graphs, "f0", {"c"}, {"y"});
  first.add_attribute("g");
  NodeProto& choice = Node(first, "If", {"c"}, {"y"});
  Refer(choice, "then_branch", AttributeProto::GRAPH, "g");
  Refer(choice, "else_branch", AttributeProto::GRAPH, "g");
  for (int i = 1; i <= 30; ++i) {
    FunctionProto& next =
        Function(graphs, "f" + std::to_string(i), {"c"}, {"y"});
    next.add_attribute("g");
    NodeProto& call = Node(next, "f" + std::to_string(i - 1), {"c"}, {"y"});
    call.set_domain("mine");
    AttributeProto& both = *call.add_attribute();
    both.set_name("g");
    both.set_type(AttributeProto::GRAPH);
    for (const char* made : {"p", "q", "r", "s", "t", "u", "v", "w"}) {
      NodeProto& node = *both.mutable_g()->add_node();
      node.set_op_type("If");
      node.add_input("c");
      node.add_output(made);
      Refer(node, "then_branch", AttributeProto::GRAPH, "g");
      Refer(node, "else_branch", AttributeProto::GRAPH, "g");
    }
    both.mutable_g()->add_output()->set_name("q");
  }
  graphs.Floats("zero", {}, {0});
  graphs.Node("Greater", {"zero", "zero"}, {"condition"});
  AttributeProto& last =
      *Call(graphs, "f30", {"condition"}, {"out"}).add_attribute();
  last.set_name("g");
  last.set_type(AttributeProto::GRAPH);
  last.mutable_g()->add_output()->set_name("x");
  graphs.Output("out");
  expect_refused(graphs);
}

TEST(OnnxFunctions, ThatLieTooDeepInOneAnotherAreRefused) {
  ModelBuilder builder = OneInput();
  Twice(builder);
  std::string last = "twice";
  for (int i = 0; i < 100; ++i) {
    const std::string name = "f" + std::to_string(i);
    FunctionProto& next = Function(builder, name, {"a", "b"}, {"y"});
    Node(next, last, {"a", "b"}, {"y"}).set_domain("mine");
    last = name;
  }
  Call(builder, last, {"x", "w"}, {"out"});
  builder.Output("out");
  ExpectError(ErrorCode::kResourceExhausted, "onnx.function_depth",
              {"more than 64 functions"}, [&] { builder.Load(); });
}

}  // namespace
}  // namespace sluice::testing
