#pragma once

#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/plan/assignment/assignment.h"

// Small assignment problems, and what is true of their solutions.
namespace sluice::framework {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

double CostOf(const AssignmentProblem& problem,
              const std::vector<int>& choices);

// By trying every assignment; the cost is infinite where all are forbidden.
struct Optimum {
  double cost = kForbidden;
  std::vector<int> choices{};
  bool unique = false;
};
Optimum BruteForce(const AssignmentProblem& problem);

using Edges = std::vector<std::pair<int, int>>;

// From 0 to limit - 1.
int Below(std::mt19937* random, int limit);

Edges Chain(int nodes);
Edges Tree(int nodes, std::mt19937* random);
// Each node beside an edge that is there.
Edges SeriesParallel(int nodes, std::mt19937* random);
// Three edges a node, parallel ones among them.
Edges Dense(int nodes, std::mt19937* random);
Edges Complete(int nodes);

struct Form {
  std::string name;
  Edges (*make)(int nodes, std::mt19937* random);
};
// All of them; reductions solve the first kReducible.
std::vector<Form> Forms();
constexpr int kReducible = 3;

// Nodes with one to four choices. Whole numbers up to `most` add up exactly,
// and are often equal; with most = 0 costs are random real numbers. `forbidden`
// is the share of infinite costs.
AssignmentProblem MakeProblem(const Edges& edges,
                              int nodes,
                              int most,
                              double forbidden,
                              std::mt19937* random);

AssignmentOptions WithoutElimination(int sweeps);

// What must hold whatever the limits are.
void ExpectHonest(const AssignmentProblem& problem,
                  const Optimum& optimum,
                  const Assignment& result);

}  // namespace sluice::framework
