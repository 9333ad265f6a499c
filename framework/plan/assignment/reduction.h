#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sluice/framework/plan/assignment/pairwise.h"

namespace sluice::framework::assignment {

// Takes nodes out of a problem one by one, in a way that lets the best choices
// of those taken out be found from the choices of those that stay: nodes with
// one choice, with no edge (R0), one (RI) or two (RII). Refers to the problem,
// which must outlive it. Used by one thread.
class Reduction {
 public:
  // Adds up the edges between the same two nodes.
  explicit Reduction(const Pairwise& problem);

  // Reduces until no rule applies: nothing remains of a series-parallel graph.
  // Linear in nodes and edges; each node costs the product of the choices of
  // itself and its neighbours.
  void Run();
  // Takes out a node with this choice (RN), then Run.
  void Fix(int node, int choice);

  bool remains(int node) const { return degree_[node] >= 0; }
  // The choice of a remaining node that is cheapest if each of its neighbours
  // then takes what is best for the two; `margin`, where given, is how much
  // more the next best costs.
  int CheapestChoice(int node, double* margin = nullptr) const;
  // The connected components of what remains, each with its nodes in order.
  std::vector<std::vector<int>> Components() const;
  // One of them as a problem of its own.
  Pairwise Part(const std::vector<int>& component) const;

  // The least cost of what was reduced to nothing; infinite where that cannot
  // be satisfied.
  double constant() const { return constant_; }
  // Chooses for the nodes taken out. The others have their choices.
  void Complete(std::vector<int>* choice) const;

 private:
  // One side of an edge; the other is at index ^ 1. Sides of a node form a
  // list.
  struct Side {
    int node;
    int next;
    int previous;
    ptrdiff_t stride;
  };
  struct Removed {
    int node;
    int fixed;                 // the choice, or -1
    std::array<int, 2> sides;  // or -1
  };

  int neighbour(int side) const { return sides_[side ^ 1].node; }
  double Cost(int side, int own, int other) const {
    return costs_[side >> 1]
                 [own * sides_[side].stride + other * sides_[side ^ 1].stride];
  }
  double* Allocate(size_t entries);
  void AddEdge(const PairwiseEdge& edge);
  void Unlink(int side);
  void Remove(int node, int fixed, int first = -1, int second = -1);
  void Fold(int node, int choice);
  void ReduceOne(int node);
  void ReduceTwo(int node);

  const Pairwise& problem_;
  std::vector<double> node_costs_;
  std::vector<int> degree_;  // -1: taken out
  std::vector<int> head_;
  std::vector<Side> sides_;
  std::vector<const double*> costs_;  // of each edge
  std::vector<double*> own_;          // the same, where they may be written
  std::unordered_map<uint64_t, int> edge_between_;
  std::vector<std::unique_ptr<double[]>> blocks_;
  size_t free_ = 0;                        // entries of the last block
  std::array<std::vector<int>, 3> ready_;  // by degree; may be out of date
  std::vector<Removed> removed_;
  std::vector<double> scratch_;
  double constant_ = 0;
};

}  // namespace sluice::framework::assignment
