#include <string>
#include <utility>

#include "tests/fuzz/random_model.h"

namespace sluice::fuzz {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

void CallNodes(Choices* choices, ModelProto* model) {
  GraphProto* graph = model->mutable_graph();
  if (graph->node_size() == 0) return;
  auto* function = model->add_functions();
  const std::string name = "f" + std::to_string(model->functions_size());
  function->set_name(name);
  function->set_domain("mine");
  *function->mutable_opset_import() = model->opset_import();
  function->mutable_node()->Swap(graph->mutable_node());
  AttributeProto given;
  NodeProto& first = *function->mutable_node(0);
  if (first.attribute_size() > 0 && choices->Once(2)) {
    given.Swap(first.mutable_attribute(0));
    first.mutable_attribute(0)->set_name(given.name());
    first.mutable_attribute(0)->set_type(given.type());
    first.mutable_attribute(0)->set_ref_attr_name("a");
    given.set_name("a");
    function->add_attribute("a");
  }
  for (const auto& input : graph->input()) {
    function->add_input(input.name());
  }
  for (const TensorProto& tensor : graph->initializer()) {
    function->add_input(tensor.name());
  }
  for (const auto& output : graph->output()) {
    function->add_output(output.name());
  }
  for (size_t call = choices->Next(3) + 1; call > 0; --call) {
    NodeProto* node = graph->add_node();
    node->set_op_type(name);
    node->set_domain("mine");
    *node->mutable_input() = function->input();
    if (given.has_name() && !choices->Once(4)) {
      *node->add_attribute() = given;
    }
    for (const std::string& output : function->output()) {
      node->add_output(call == 1 ? output : output + std::to_string(call));
    }
  }
}

namespace {

void AddGraph(const char* name, const GraphProto& graph, NodeProto* node) {
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(AttributeProto::GRAPH);
  *attribute->mutable_g() = graph;
}

// An input, or a constant, of one element.
void AddScalar(Choices* choices,
               const std::string& name,
               int32_t type,
               GraphProto* graph) {
  if (choices->Once(2)) {
    graph->add_input()->set_name(name);
    auto* tensor = graph->mutable_input(graph->input_size() - 1)
                       ->mutable_type()
                       ->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
  } else {
    TensorProto* value = graph->add_initializer();
    value->set_name(name);
    value->set_data_type(type);
    value->add_int32_data(choices->Once(3) ? 0 : 1);
    if (type != TensorProto::INT64) return;
    value->clear_int32_data();
    value->add_int64_data(static_cast<int64_t>(choices->Next(4)));
  }
}

// The inputs of the graph become the body's inputs, under other names.
void PassInputs(Choices* choices,
                bool slices,
                GraphProto* graph,
                GraphProto* body,
                NodeProto* node) {
  for (auto& input : *graph->mutable_input()) {
    if (choices->Once(3)) continue;  // the body looks at it from inside
    auto* inner = body->add_input();
    *inner = input;
    auto* type = inner->mutable_type()->mutable_tensor_type();
    if (choices->Once(4)) type->clear_shape();
    auto* sizes = type->mutable_shape()->mutable_dim();
    if (slices && !sizes->empty()) sizes->erase(sizes->begin());
    input.set_name(input.name() + "_outer");
    node->add_input(input.name());
  }
}

}  // namespace

void NestNodes(Choices* choices, ModelProto* model) {
  GraphProto* graph = model->mutable_graph();
  if (graph->node_size() == 0) return;
  const std::string suffix = "_" + std::to_string(graph->ByteSizeLong() % 1000);
  GraphProto body;
  body.mutable_node()->Swap(graph->mutable_node());
  if (choices->Once(2)) {
    body.mutable_initializer()->Swap(graph->mutable_initializer());
  }
  NodeProto node;
  const size_t kind = choices->Next(3);
  node.set_op_type(kind == 0 ? "If" : kind == 1 ? "Loop" : "Scan");
  if (kind == 1) {
    for (const char* name : {"trip", "cond"}) {
      if (choices->Once(4)) {
        node.add_input("");
        continue;
      }
      const bool trip = *name == 't';
      node.add_input(name + suffix);
      AddScalar(choices, name + suffix,
                trip ? TensorProto::INT64 : TensorProto::BOOL, graph);
    }
    body.add_input()->set_name("i" + suffix);
    body.add_input()->set_name("c" + suffix);
    PassInputs(choices, /*slices=*/false, graph, &body, &node);
    body.add_output()->set_name("c" + suffix);
  } else if (kind == 2) {
    PassInputs(choices, /*slices=*/true, graph, &body, &node);
    AttributeProto* count = node.add_attribute();
    count->set_name("num_scan_inputs");
    count->set_type(AttributeProto::INT);
    count->set_i(node.input_size() - (choices->Once(4) ? 1 : 0));
  }
  for (auto& output : *graph->mutable_output()) {
    *body.add_output() = output;
    output.set_name(output.name() + suffix);
    node.add_output(output.name());
  }
  if (kind == 0) {
    AddScalar(choices, "cond" + suffix, TensorProto::BOOL, graph);
    node.add_input("cond" + suffix);
    AddGraph("then_branch", body, &node);
    AddGraph("else_branch", body, &node);
  } else {
    AddGraph("body", body, &node);
  }
  graph->add_node()->Swap(&node);
}

}  // namespace sluice::fuzz
