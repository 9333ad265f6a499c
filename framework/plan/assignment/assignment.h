#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice::framework {

// A partitioned boolean quadratic problem: each node takes one of its choices,
// and pays for it; each edge pays for the pair of choices of its two nodes. For
// a graph of ops a node is an op, its choices are kernels with their layouts
// and places, and an edge is a value that may have to be converted or copied.
// Costs are in seconds, from 0 to kMostAssignmentCost; infinity forbids a
// choice or a pair of choices. A value type.
struct AssignmentProblem {
  // `matrix` is an index into `matrices`. Several edges between the same two
  // nodes add up.
  struct Edge {
    int u = 0;
    int v = 0;
    int matrix = 0;
  };

  std::vector<std::vector<double>> nodes;  // the cost of each choice
  // Costs of pairs, row-major: choices of u by choices of v. Any number of
  // edges may share one.
  std::vector<std::vector<double>> matrices;
  std::vector<Edge> edges;

  // Each returns the index of what it appends. Nothing is checked before Solve.
  int AddNode(std::vector<double> costs) {
    nodes.push_back(std::move(costs));
    return static_cast<int>(nodes.size()) - 1;
  }
  int AddMatrix(std::vector<double> costs) {
    matrices.push_back(std::move(costs));
    return static_cast<int>(matrices.size()) - 1;
  }
  void AddEdge(int u, int v, int matrix) { edges.push_back({u, v, matrix}); }
  void AddEdge(int u, int v, std::vector<double> costs) {
    AddEdge(u, v, AddMatrix(std::move(costs)));
  }
};

// Sums of so many costs stay finite.
constexpr double kMostAssignmentCost = 1e200;

// Limits of the effort, all of them counts, so that the same problem has the
// same solution on every machine. With the defaults Solve is linear in the size
// of the problem. Problems of less than 2,000 nodes may take the effort of one
// of 2,000 nodes: more tables and sweeps.
struct AssignmentOptions {
  // The largest table of vertex elimination, in entries, and the entries of all
  // tables for each node of a part that is eliminated. Where they do not
  // suffice the solution is approximate. 0 leaves vertex elimination out.
  int64_t table_entries = int64_t{1} << 18;
  int64_t table_entries_per_node = int64_t{1} << 10;
  // How often messages may pass forward and backward over each part that is not
  // solved exactly.
  int sweeps = 20;
  // What errors call a node; "node 3" where there is none.
  std::function<std::string(int)> node_name;
};

// A value type.
struct Assignment {
  std::vector<int> choices;  // of each node
  double cost = 0;           // in seconds
  double lower_bound = 0;    // no assignment costs less; at most `cost`
  bool exact = false;        // proved optimal, up to rounding (1e-12 of `cost`)

  // How much of the cost could be saved at most: 0 to 1.
  double gap() const { return cost > 0 ? (cost - lower_bound) / cost : 0; }
};

// An assignment of low cost: an optimal one where the graph is series-parallel
// (chains, trees, residual blocks, parallel branches) or vertex elimination
// stays below the limits; elsewhere a local optimum and a lower bound. Where
// costs are equal the smaller index of a choice wins, so that the result
// depends on the problem only. May be called by several threads at once.
//
// Raises InvalidArgument for a node without a choice ("assignment.no_choice"),
// a cost that is negative, NaN or too large ("assignment.node_cost",
// "assignment.matrix_cost"), an edge whose node or matrix does not exist
// ("assignment.edge_node", "assignment.edge_matrix"), that connects a node
// to itself ("assignment.self_edge"), or whose matrix has another size
// ("assignment.matrix_size"), and for negative limits ("assignment.limits").
// Raises FailedPrecondition "assignment.infeasible" where every assignment has
// a forbidden choice or pair; it names nodes that cannot be satisfied together,
// and none of them could be left out if the search for them was within its
// limits. Raises ResourceExhausted "assignment.not_found" where no assignment
// was found, but none is proved to be missing.
//
// Series-parallel reductions: Scholz and Eckstein, "Register allocation for
// irregular architectures", 2002. Vertex elimination: Dechter, "Bucket
// elimination", 1999. Lower bound: Kolmogorov, "A new look at reweighted
// message passing", 2015.
SLUICE_API Assignment Solve(const AssignmentProblem& problem,
                            const AssignmentOptions& options = {});

}  // namespace sluice::framework
