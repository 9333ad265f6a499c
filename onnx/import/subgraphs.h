#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Graphs that are attributes of nodes: branches and bodies of loops. They read
// values of the graphs around them.

// Calls `visit` for each graph that is an attribute of the node.
void VisitSubgraphs(
    const ::onnx::NodeProto& node,
    const std::function<void(const ::onnx::GraphProto&)>& visit);

// Puts a Constant in the place of each sparse initialiser of a graph and of
// those inside it, and of functions, before the nodes that read it. One that is
// an input, too, is no input of the model then; in a graph inside, the input is
// what counts. Raises InvalidArgument for one without a name.
void MakeSparseInitialisersNodes(::onnx::ModelProto* model);

// Gives values of graphs names that no other value of the model has.
class Renaming {
 public:
  using Names = std::map<std::string, std::string>;

  // No value is given a name of `graph`, or with `subgraphs` one of those.
  void TakeAll(const ::onnx::GraphProto& graph, bool subgraphs);

  // New names where they are taken, for what nodes make in the subgraphs of
  // `graph`.
  void RenameSubgraphs(::onnx::GraphProto* graph);

  // The same for what the nodes of `graph` make, with `prefix` in front of
  // each. `inputs`: what its inputs are called outside. `outputs`: names that
  // are given.
  void RenameBody(const std::string& prefix,
                  Names inputs,
                  const Names& outputs,
                  ::onnx::GraphProto* graph);

 private:
  void RenameNodes(::onnx::GraphProto* graph,
                   bool outermost,
                   const Names& given);
  void RenameGraph(::onnx::GraphProto* graph);
  void Define(std::string* name);
  void Call(const std::string& name, const std::string& called);

  std::set<std::string> taken_;
  std::map<std::string, int> numbers_;  // the last one that a name was given
  std::string prefix_;
  // What values are called now, where that is another name; and what was
  // changed in the graphs around the one that is renamed: what it was.
  Names names_;
  std::vector<std::pair<std::string, std::optional<std::string>>> changed_;
};

// Gives values of subgraphs other names where a graph around them, or another
// subgraph, has one of the same name, so that a name means one value in the
// whole model.
void MakeNamesUnique(::onnx::GraphProto* graph);

}  // namespace sluice::onnx
