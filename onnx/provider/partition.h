#pragma once

#include <string>
#include <vector>

#include "sluice/onnx/provider/group_model.h"

namespace sluice::ort {

// The groups of nodes of a graph that the execution provider claims.
struct Partition {
  std::vector<Group> groups;
  std::string left;  // a line for each node that it leaves, with the reason
};

// Returns all nodes of the graph as one group if Sluice imports them and has
// kernels for them. Else returns groups of the nodes for which this holds one
// by one: each is a run of a topological order, so that no path between two of
// its nodes leaves it. Leaves the nodes of providers other than `provider`.
Partition PartitionOf(const Runtime& runtime,
                      const Graph* graph,
                      const std::string& provider);

}  // namespace sluice::ort
