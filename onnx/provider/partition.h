#pragma once

#include <string>
#include <vector>

#include "sluice/onnx/provider/runtime.h"

namespace sluice::ort {

// Nodes that become one.
using Group = std::vector<const Node*>;

// What an execution provider takes of a graph.
struct Partition {
  std::vector<Group> groups;
  // A line for each node that it leaves, with the reason.
  std::string left;
};

// Returns all nodes of the graph as one group if Sluice imports them and has
// kernels for them. Else returns groups of the nodes for which this holds one
// by one; a group is a run of them in a topological order, so that no path
// between two of its nodes leaves it. Nodes of another provider than `provider`
// are left.
Partition PartitionOf(const Runtime& runtime,
                      const Graph* graph,
                      const std::string& provider);

}  // namespace sluice::ort
