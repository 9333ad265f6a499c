#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

// What the parts of the assignment solver share; assignment.h is what others
// use. Every part handles a Pairwise and one kind of reasoning about it:
// reductions, pruning, elimination, message passing, local search.
namespace sluice::framework::assignment {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

// The costs of the pairs of choices of nodes u and v.
struct PairwiseEdge {
  int u = 0;
  int v = 0;
  const double* costs = nullptr;
  ptrdiff_t u_stride = 0;
  ptrdiff_t v_stride = 0;

  double at(int a, int b) const { return costs[a * u_stride + b * v_stride]; }
};

// A problem with all costs of nodes in one array, and edges that point to their
// costs: into `matrices`, or to what its maker keeps alive. Costs of edges may
// be negative by rounding. Can be moved, but not copied.
struct Pairwise {
  std::vector<int> first = {0};  // node i has costs[first[i]], ...
  std::vector<double> costs;
  std::vector<PairwiseEdge> edges;
  std::vector<double> matrices;

  Pairwise() = default;
  Pairwise(Pairwise&&) = default;
  Pairwise& operator=(Pairwise&&) = default;
  Pairwise(const Pairwise&) = delete;
  Pairwise& operator=(const Pairwise&) = delete;
  ~Pairwise() = default;

  int nodes() const { return static_cast<int>(first.size()) - 1; }
  int choices(int node) const { return first[node + 1] - first[node]; }
  const double* costs_of(int node) const { return &costs[first[node]]; }
  // Appends a node that costs `costs`.
  void AddNode(std::span<const double> node_costs);
  double CostOf(const std::vector<int>& choice) const;
};

// An edge as seen from one of its nodes.
struct Incident {
  int edge = 0;
  int side = 0;  // 0 where the node is the edge's u
  int neighbour = 0;
  const double* costs = nullptr;
  ptrdiff_t stride = 0;
  ptrdiff_t neighbour_stride = 0;

  double at(int own, int other) const {
    return costs[own * stride + other * neighbour_stride];
  }
};

// The edges of each node, in the order of the problem's.
class Incidence {
 public:
  explicit Incidence(const Pairwise& problem);
  std::span<const Incident> of(int node) const {
    return {&incidents_[0] + first_[node], &incidents_[0] + first_[node + 1]};
  }

 private:
  std::vector<int> first_;
  std::vector<Incident> incidents_;
};

// A problem with some of the choices only, its edges in the same order and
// their matrices its own, row-major.
struct Restricted {
  Pairwise problem;
  std::vector<int> original;  // of each choice, its index within its node

  // The same assignment with the choices of the other problem. Narrow wants
  // choices that were kept.
  std::vector<int> Widen(const std::vector<int>& choice) const;
  std::vector<int> Narrow(const std::vector<int>& choice) const;
};
// `kept` says of each entry of problem.costs whether it stays; of each node
// one must.
Restricted Restrict(const Pairwise& problem, const std::vector<char>& kept);

}  // namespace sluice::framework::assignment
