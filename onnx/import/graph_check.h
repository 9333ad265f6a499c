#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/onnx/import/messages.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace sluice::onnx {

// "node Conv_3 (Conv)", or "node 12 (Conv)" for one without a name.
std::string NodeName(const NodeProto& node, int index);

// Checks the names of the graph's values: every value is assigned once, before
// its use, and the outputs are assigned. Raises InvalidArgument.
void CheckNames(const GraphProto& graph);

// Orders the nodes of the model's graphs and functions so that each value is
// made before it is read; nodes that are in order stay where they are. Raises
// InvalidArgument for a cycle, naming its nodes.
void SortNodes(::onnx::ModelProto* model);

// Graphs that are attributes of nodes: branches and loop bodies. They can read
// values of the enclosing graphs.

// Calls `visit` for each graph that is an attribute of the node.
void VisitSubgraphs(const NodeProto& node,
                    const std::function<void(const GraphProto&)>& visit);
void VisitSubgraphs(NodeProto* node,
                    const std::function<void(GraphProto*)>& visit);

// Replaces each sparse initialiser of a graph, of inner graphs and of functions
// by a Constant before the nodes that read it. If it is also an input, the
// model loses this input; in an inner graph the input takes precedence. Raises
// InvalidArgument for one without a name.
void MakeSparseInitialisersNodes(::onnx::ModelProto* model);

// The cost of one name in the tables of names.
inline constexpr uint64_t kNameBytes = 256;

// The cost of a copy of a message: its parts, which may be much larger in
// memory than in a file, and its strings.
uint64_t BytesInMemory(const google::protobuf::MessageLite& message);

// The number of times that nodes and subgraphs name a value.
size_t CountNames(const GraphProto& graph);

// Names that are taken, and new ones.
class UniqueNames {
 public:
  // Takes the names of `graph`, or with `subgraphs` those of its subgraphs.
  void TakeAll(const GraphProto& graph, bool subgraphs);
  // Takes and returns an unused name: base, or base with a number.
  std::string New(const std::string& base);

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> numbers_;  // the last number used for a name
};

// Replaces each Scan of opset 8, which has a batch, by one of opset 9 along it,
// whose graph is one along the sequence. Those with lengths stay.
void NestOldScans(GraphProto* graph);

// Renames values of graphs so that names are unique in the whole model.
class Renaming {
 public:
  using Names = std::map<std::string, std::string>;

  // `names` has those of the model, and must outlive the object.
  explicit Renaming(UniqueNames* names) : unique_(*names) {}

  // Renames values that nodes compute in the subgraphs of `graph`, if taken.
  void RenameSubgraphs(GraphProto* graph);

  // Renames values that the nodes of `graph` compute, with `prefix` before
  // each. `inputs` maps its inputs to their outer names; `outputs` are fixed
  // names.
  void RenameBody(const std::string& prefix,
                  Names inputs,
                  const Names& outputs,
                  GraphProto* graph);

 private:
  void RenameNodes(GraphProto* graph, bool outermost, const Names& given);
  void RenameGraph(GraphProto* graph);
  void Define(std::string* name);
  void Call(const std::string& name, const std::string& called);

  UniqueNames& unique_;
  std::string prefix_;
  // Current names of values that were renamed, and, for the enclosing graphs,
  // their previous names.
  Names names_;
  std::vector<std::pair<std::string, std::optional<std::string>>> changed_;
};

// Renames values of subgraphs whose names an enclosing graph or another
// subgraph also uses, so that a name means one value in the whole model.
void MakeNamesUnique(GraphProto* graph);

}  // namespace sluice::onnx
