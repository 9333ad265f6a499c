#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using sluice::testing::ExpectError;
using sluice::testing::ModelBuilder;

NodeProto& AddNode(GraphProto& graph,
                   const char* type,
                   std::initializer_list<const char*> inputs,
                   const char* output) {
  NodeProto& node = *graph.add_node();
  node.set_op_type(type);
  for (const char* input : inputs) {
    node.add_input(input);
  }
  node.add_output(output);
  return node;
}

GraphProto& AddBody(NodeProto& node,
                    std::initializer_list<const char*> inputs,
                    std::initializer_list<const char*> outputs) {
  auto* attribute = node.add_attribute();
  attribute->set_name("body");
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  GraphProto& body = *attribute->mutable_g();
  for (const char* input : inputs) {
    body.add_input()->set_name(input);
  }
  for (const char* output : outputs) {
    body.add_output()->set_name(output);
  }
  return body;
}

void SetInput(GraphProto& graph, int index, TensorProto::DataType dtype) {
  auto* type = graph.mutable_input(index)->mutable_type();
  type->mutable_tensor_type()->set_elem_type(dtype);
}

// y is a sequence, into which a loop inserts x three times. Node 1 is the loop,
// trips is initialiser 0.
ModelBuilder Growing() {
  ModelBuilder builder(17);
  builder.Input("x", {2});
  builder.Ints("trips", {3}).clear_dims();
  TensorProto& go = builder.Ints("go", {});
  go.clear_dims();
  go.set_data_type(TensorProto::BOOL);
  go.add_int32_data(1);
  builder.Node("SequenceEmpty", {}, {"empty"});
  NodeProto& loop = builder.Node("Loop", {"trips", "go", "empty"}, {"y"});
  GraphProto& body = AddBody(loop, {"i", "c", "s"}, {"d", "t"});
  AddNode(body, "Identity", {"c"}, "d");
  AddNode(body, "SequenceInsert", {"s", "x"}, "t");
  builder.Output("y");
  return builder;
}

TEST(OnnxSequenceGraphs, ALoopMakesASequence) {
  using Floats = std::vector<std::vector<float>>;
  EXPECT_EQ(Growing().Run({{1, 2}}), (Floats{{1, 2}, {1, 2}, {1, 2}}));
}

TEST(OnnxSequenceGraphs, ALoopOfAbsurdLengthIsRefusedBeforeItIsCopied) {
  ModelBuilder builder = Growing();
  for (const int64_t trips : {int64_t{1000000}, INT64_MAX}) {
    builder.graph().mutable_initializer(0)->set_int64_data(0, trips);
    ExpectError(ErrorCode::kResourceExhausted, "onnx.import_memory",
                {"copies of its body", "node 1 (Loop)"},
                [&] { builder.Load(); });
  }
}

void Refused(const char* id,
             std::initializer_list<std::string_view> fragments,
             const std::function<void(ModelBuilder&, GraphProto&)>& change) {
  ModelBuilder builder = Growing();
  change(builder,
         *builder.graph().mutable_node(1)->mutable_attribute(0)->mutable_g());
  ExpectError(ErrorCode::kInvalidArgument, id, fragments,
              [&] { builder.Load(); });
}

TEST(OnnxSequenceGraphs, LoopsThatContradictThemselvesAreRefused) {
  Refused("onnx.copy_kind", {"a tensor for s, and gets a sequence"},
          [](ModelBuilder&, GraphProto& body) {
            SetInput(body, 2, TensorProto::FLOAT);
          });
  Refused("onnx.copy_dtype", {"float32 for i, and gets int64"},
          [](ModelBuilder&, GraphProto& body) {
            SetInput(body, 0, TensorProto::FLOAT);
          });
  Refused("onnx.subgraph_inputs", {"has 4 inputs; expected 3"},
          [](ModelBuilder&, GraphProto& body) {
            body.add_input()->set_name("more");
          });
  Refused("onnx.known_number", {"its trip count has 2 numbers"},
          [](ModelBuilder& builder, GraphProto&) {
            TensorProto& trips = *builder.graph().mutable_initializer(0);
            trips.add_dims(2);
            trips.add_int64_data(4);
          });
  Refused("onnx.loop_condition", {"its condition is int64 []"},
          [](ModelBuilder&, GraphProto& body) {
            body.mutable_node(0)->set_input(0, "i");
          });
  Refused("onnx.sequence_dtype",
          {"i is int64, and the first tensor", "float32"},
          [](ModelBuilder& builder, GraphProto&) {
            builder.Input("i", {});
            SetInput(builder.graph(), 1, TensorProto::INT64);
            builder.Node("SequenceConstruct", {"x", "i"}, {"z"});
          });
  Refused("onnx.sequence_dtype", {"is int64, and the first tensor", "float32"},
          [](ModelBuilder& builder, GraphProto& body) {
            builder.graph().mutable_node(0)->set_op_type("SequenceConstruct");
            builder.graph().mutable_node(0)->add_input("x");
            body.mutable_node(1)->set_input(1, "i");
          });
}

TEST(OnnxSequenceGraphs, MapsTakeSequencesOfOneLength) {
  ModelBuilder builder(17);
  builder.Input("x", {2});
  builder.Node("SequenceConstruct", {"x", "x"}, {"two"});
  builder.Node("SequenceConstruct", {"x", "x", "x"}, {"three"});
  NodeProto& map = builder.Node("SequenceMap", {"two", "three"}, {"y"});
  GraphProto& body = AddBody(map, {"a", "b"}, {"c"});
  AddNode(body, "Add", {"a", "b"}, "c");
  builder.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, "onnx.sequence_map_length",
              {"input 1 has 3 tensors, and input 0 has 2"},
              [&] { builder.Load(); });
}

TEST(OnnxSequenceGraphs, OutputsHaveAValue) {
  ModelBuilder builder(17);
  builder.Node("Optional", {}, {"y"});
  builder.Output("y");
  ExpectError(ErrorCode::kUnimplemented, "onnx.absent",
              {"y is an optional value without a value"},
              [&] { builder.Load(); });
}

}  // namespace
}  // namespace sluice::onnx
