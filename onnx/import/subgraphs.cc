#include "sluice/onnx/import/subgraphs.h"

#include <algorithm>
#include <utility>

#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

void Replace(const Renaming::Names& names, std::string* name) {
  const auto found = names.find(*name);
  if (found != names.end()) *name = found->second;
}

}  // namespace

void Renaming::TakeAll(const GraphProto& graph, bool subgraphs) {
  for (const auto& input : graph.input()) {
    taken_.insert(input.name());
  }
  for (const auto& tensor : graph.initializer()) {
    taken_.insert(tensor.name());
  }
  for (const auto& node : graph.node()) {
    taken_.insert(node.output().begin(), node.output().end());
    if (!subgraphs) continue;
    VisitSubgraphs(node,
                   [this](const GraphProto& inner) { TakeAll(inner, true); });
  }
}

void Renaming::RenameSubgraphs(GraphProto* graph) {
  prefix_.clear();
  names_.clear();
  RenameNodes(graph, true, {});
}

void Renaming::RenameBody(const std::string& prefix,
                          Names inputs,
                          const Names& outputs,
                          GraphProto* graph) {
  prefix_ = prefix;
  names_ = std::move(inputs);
  RenameNodes(graph, false, outputs);
  changed_.clear();
}

// `given` maps some values of this graph to their new names.
void Renaming::RenameNodes(GraphProto* graph,
                           bool outermost,
                           const Names& given) {
  for (auto& node : *graph->mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      Replace(names_, &input);
    }
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) RenameGraph(attribute.mutable_g());
      for (auto& inner : *attribute.mutable_graphs()) {
        RenameGraph(&inner);
      }
    }
    if (outermost) continue;
    for (std::string& output : *node.mutable_output()) {
      const auto wanted = given.find(output);
      if (wanted == given.end()) {
        Define(&output);
      } else {
        Call(output, wanted->second);
        output = wanted->second;
      }
    }
  }
  for (auto& output : *graph->mutable_output()) {
    Replace(names_, output.mutable_name());
  }
}

// Names defined in the graph are valid only inside it.
void Renaming::RenameGraph(GraphProto* graph) {
  const size_t before = changed_.size();
  std::set<std::string> inputs;
  for (auto& input : *graph->mutable_input()) {
    inputs.insert(input.name());
    Define(input.mutable_name());
  }
  for (auto& tensor : *graph->mutable_initializer()) {
    if (inputs.contains(tensor.name())) {
      Replace(names_, tensor.mutable_name());
    } else {
      Define(tensor.mutable_name());
    }
  }
  RenameNodes(graph, false, {});
  while (changed_.size() > before) {
    auto& [name, called] = changed_.back();
    if (called) {
      names_[name] = std::move(*called);
    } else {
      names_.erase(name);
    }
    changed_.pop_back();
  }
}

void Renaming::Call(const std::string& name, const std::string& called) {
  const auto [known, added] = names_.try_emplace(name, called);
  changed_.emplace_back(name, std::nullopt);
  if (added) return;
  changed_.back().second = std::move(known->second);
  known->second = called;
}

void Renaming::Define(std::string* name) {
  if (name->empty()) return;
  const std::string wanted = prefix_ + *name;
  std::string unique = wanted;
  int& number = numbers_[wanted];
  while (!taken_.insert(unique).second) {
    unique = Format("{}_{}", wanted, ++number);
  }
  Call(*name, unique);
  *name = std::move(unique);
}

void VisitSubgraphs(const NodeProto& node,
                    const std::function<void(const GraphProto&)>& visit) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& inner : attribute.graphs()) {
      visit(inner);
    }
  }
}

namespace {

// An initialiser that is also an input is kept once, sparse or dense.
void SettleInputs(bool outermost, GraphProto* graph) {
  std::set<std::string_view> sparse;
  for (const auto& tensor : graph->sparse_initializer()) {
    sparse.insert(tensor.values().name());
  }
  if (sparse.empty()) return;
  auto* inputs = graph->mutable_input();
  if (outermost) {
    inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                                 [&](const auto& input) {
                                   return sparse.contains(input.name());
                                 }),
                  inputs->end());
    return;
  }
  std::set<std::string_view> given;
  for (const auto& input : *inputs) {
    given.insert(input.name());
  }
  auto* tensors = graph->mutable_sparse_initializer();
  tensors->erase(std::remove_if(tensors->begin(), tensors->end(),
                                [&](const auto& tensor) {
                                  return given.contains(tensor.values().name());
                                }),
                 tensors->end());
}

void ReplaceSparseInside(NodeProto* node);

void ReplaceSparse(bool outermost, GraphProto* graph) {
  SettleInputs(outermost, graph);
  auto* nodes = graph->mutable_node();
  for (auto& node : *nodes) {
    ReplaceSparseInside(&node);
  }
  for (auto& sparse : *graph->mutable_sparse_initializer()) {
    const std::string& name = sparse.values().name();
    SLUICE_ENFORCE(!name.empty(), ErrorCode::kInvalidArgument,
                   "onnx.sparse_initialiser",
                   "a sparse initialiser of the graph has no name");
    NodeProto* node = nodes->Add();
    node->set_op_type("Constant");
    node->set_name(name);
    node->add_output(name);
    auto* value = node->add_attribute();
    value->set_name("sparse_value");
    value->set_type(AttributeProto::SPARSE_TENSOR);
    value->mutable_sparse_tensor()->Swap(&sparse);
  }
  std::rotate(nodes->pointer_begin(),
              nodes->pointer_end() - graph->sparse_initializer_size(),
              nodes->pointer_end());
  graph->clear_sparse_initializer();
}

void ReplaceSparseInside(NodeProto* node) {
  for (auto& attribute : *node->mutable_attribute()) {
    if (attribute.has_g()) ReplaceSparse(false, attribute.mutable_g());
    for (auto& inner : *attribute.mutable_graphs()) {
      ReplaceSparse(false, &inner);
    }
  }
}

}  // namespace

void MakeSparseInitialisersNodes(::onnx::ModelProto* model) {
  ReplaceSparse(true, model->mutable_graph());
  for (auto& function : *model->mutable_functions()) {
    for (auto& node : *function.mutable_node()) {
      ReplaceSparseInside(&node);
    }
  }
}

void MakeNamesUnique(GraphProto* graph) {
  Renaming renaming;
  renaming.TakeAll(*graph, false);
  renaming.RenameSubgraphs(graph);
}

}  // namespace sluice::onnx
