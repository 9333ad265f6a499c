#pragma once

#include <cstdint>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// Gives each node of a graph the label 0 or 1 at the lowest total cost: a node
// has a cost for each label, and a group of nodes has a cost that is paid once
// where not all of them have the same label. Layouts of images and two places
// for ops are such problems. A value type; Solve is exact.
//
// Costs are in seconds, 0 or more; infinity forbids a label, or a group of two
// labels. They are rounded down to 2^-57 of the sum of all finite costs, or
// less.
class SLUICE_API TwoLabels {
 public:
  // Returns the index of the node.
  int AddNode(double cost_0, double cost_1);
  void AddGroup(std::vector<int> nodes, double cost);

  // The label of each node. Of several solutions of the same cost it is the one
  // with the fewest labels 1. Where labels that are forbidden contradict each
  // other, some of them are given.
  //
  // A minimum cut, found by augmenting paths (Dinic, "Algorithm for solution of
  // a problem of maximum flow in networks with power estimation", 1970).
  std::vector<uint8_t> Solve() const;

 private:
  struct Node {
    double cost_0 = 0;
    double cost_1 = 0;
  };
  struct Group {
    std::vector<int> nodes;
    double cost = 0;
  };

  std::vector<Node> nodes_;
  std::vector<Group> groups_;
};

}  // namespace sluice
