#include "sluice/onnx/import/subgraphs.h"

#include <map>
#include <set>
#include <string>

#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

using Names = std::map<std::string, std::string>;

class Renaming {
 public:
  // The names of the outermost graph stay.
  void TakeAll(const ::onnx::GraphProto& graph) {
    for (const auto& input : graph.input()) {
      taken_.insert(input.name());
    }
    for (const auto& tensor : graph.initializer()) {
      taken_.insert(tensor.name());
    }
    for (const auto& node : graph.node()) {
      taken_.insert(node.output().begin(), node.output().end());
    }
  }

  // `names`: what values of the graphs around are called now.
  void RenameNodes(::onnx::GraphProto* graph, Names names, bool outermost) {
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
        Define(&output, &names);
      }
    }
    for (auto& output : *graph->mutable_output()) {
      Replace(names, output.mutable_name());
    }
  }

 private:
  void RenameGraph(::onnx::GraphProto* graph, Names names) {
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
    RenameNodes(graph, std::move(names), false);
  }

  static void Replace(const Names& names, std::string* name) {
    const auto found = names.find(*name);
    if (found != names.end()) *name = found->second;
  }

  void Define(std::string* name, Names* names) {
    if (name->empty()) return;
    std::string unique = *name;
    for (int number = 1; !taken_.insert(unique).second; ++number) {
      unique = platform::Format("{}_{}", *name, number);
    }
    (*names)[*name] = unique;
    *name = std::move(unique);
  }

  std::set<std::string> taken_;
};

}  // namespace

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
  renaming.TakeAll(*graph);
  renaming.RenameNodes(graph, {}, true);
}

}  // namespace sluice::onnx
