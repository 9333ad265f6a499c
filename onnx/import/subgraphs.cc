#include "sluice/onnx/import/subgraphs.h"

#include <utility>

#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

void Replace(const Renaming::Names& names, std::string* name) {
  const auto found = names.find(*name);
  if (found != names.end()) *name = found->second;
}

}  // namespace

void Renaming::TakeAll(const ::onnx::GraphProto& graph, bool subgraphs) {
  for (const auto& input : graph.input()) {
    taken_.insert(input.name());
  }
  for (const auto& tensor : graph.initializer()) {
    taken_.insert(tensor.name());
  }
  for (const auto& node : graph.node()) {
    taken_.insert(node.output().begin(), node.output().end());
    if (!subgraphs) continue;
    VisitSubgraphs(node, [this](const ::onnx::GraphProto& inner) {
      TakeAll(inner, true);
    });
  }
}

void Renaming::RenameSubgraphs(::onnx::GraphProto* graph) {
  prefix_.clear();
  RenameNodes(graph, {}, true, {});
}

void Renaming::RenameBody(const std::string& prefix,
                          Names inputs,
                          const Names& outputs,
                          ::onnx::GraphProto* graph) {
  prefix_ = prefix;
  RenameNodes(graph, std::move(inputs), false, outputs);
}

// `names`: what values of the graphs around are called now. `given`: what some
// of this graph are to be called.
void Renaming::RenameNodes(::onnx::GraphProto* graph,
                           Names names,
                           bool outermost,
                           const Names& given) {
  for (auto& node : *graph->mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      Replace(names, &input);
    }
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) RenameGraph(attribute.mutable_g(), names);
      for (auto& inner : *attribute.mutable_graphs()) {
        RenameGraph(&inner, names);
      }
    }
    if (outermost) continue;
    for (std::string& output : *node.mutable_output()) {
      const auto wanted = given.find(output);
      if (wanted == given.end()) {
        Define(&output, &names);
      } else {
        names[output] = wanted->second;
        output = wanted->second;
      }
    }
  }
  for (auto& output : *graph->mutable_output()) {
    Replace(names, output.mutable_name());
  }
}

void Renaming::RenameGraph(::onnx::GraphProto* graph, Names names) {
  std::set<std::string> inputs;
  for (auto& input : *graph->mutable_input()) {
    inputs.insert(input.name());
    Define(input.mutable_name(), &names);
  }
  for (auto& tensor : *graph->mutable_initializer()) {
    if (inputs.contains(tensor.name())) {
      Replace(names, tensor.mutable_name());
    } else {
      Define(tensor.mutable_name(), &names);
    }
  }
  RenameNodes(graph, std::move(names), false, {});
}

void Renaming::Define(std::string* name, Names* names) {
  if (name->empty()) return;
  const std::string wanted = prefix_ + *name;
  std::string unique = wanted;
  int& number = numbers_[wanted];
  while (!taken_.insert(unique).second) {
    unique = platform::Format("{}_{}", wanted, ++number);
  }
  (*names)[*name] = unique;
  *name = std::move(unique);
}

void VisitSubgraphs(
    const ::onnx::NodeProto& node,
    const std::function<void(const ::onnx::GraphProto&)>& visit) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& inner : attribute.graphs()) {
      visit(inner);
    }
  }
}

void MakeNamesUnique(::onnx::GraphProto* graph) {
  Renaming renaming;
  renaming.TakeAll(*graph, false);
  renaming.RenameSubgraphs(graph);
}

}  // namespace sluice::onnx
