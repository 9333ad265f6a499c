#include "tests/framework/assignment/small_problems.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

namespace sluice::framework {

double CostOf(const AssignmentProblem& problem,
              const std::vector<int>& choices) {
  double cost = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    cost += problem.nodes[i].at(choices[i]);
  }
  for (const auto& [u, v, matrix] : problem.edges) {
    cost += problem.matrices[matrix].at(choices[u] * problem.nodes[v].size() +
                                        choices[v]);
  }
  return cost;
}

namespace {

// Calls it with every assignment.
void ForEachAssignment(const AssignmentProblem& problem,
                       const std::function<void(const std::vector<int>&)>& f) {
  std::vector<int> choices(problem.nodes.size());
  while (true) {
    f(choices);
    size_t node = 0;
    while (node < choices.size() &&
           ++choices[node] == std::ssize(problem.nodes[node])) {
      choices[node++] = 0;
    }
    if (node == choices.size()) return;
  }
}

}  // namespace

Optimum BruteForce(const AssignmentProblem& problem) {
  Optimum best;
  ForEachAssignment(problem, [&](const std::vector<int>& choices) {
    const double cost = CostOf(problem, choices);
    if (cost == best.cost) best.unique = false;
    if (cost < best.cost) best = {cost, choices, true};
  });
  return best;
}

int Below(std::mt19937* random, int limit) {
  return static_cast<int>((*random)() % limit);
}

Edges Chain(int nodes) {
  Edges edges;
  for (int i = 1; i < nodes; ++i)
    edges.emplace_back(i - 1, i);
  return edges;
}

Edges Tree(int nodes, std::mt19937* random) {
  Edges edges;
  for (int i = 1; i < nodes; ++i)
    edges.emplace_back(i, Below(random, i));
  return edges;
}

Edges SeriesParallel(int nodes, std::mt19937* random) {
  Edges edges;
  if (nodes > 1) edges.emplace_back(0, 1);
  for (int i = 2; i < nodes; ++i) {
    const auto [u, v] = edges[Below(random, static_cast<int>(edges.size()))];
    edges.emplace_back(u, i);
    edges.emplace_back(i, v);
  }
  return edges;
}

Edges Dense(int nodes, std::mt19937* random) {
  Edges edges;
  for (int i = 0; i < 3 * nodes && nodes > 1; ++i) {
    const int u = Below(random, nodes);
    edges.emplace_back(u, (u + 1 + Below(random, nodes - 1)) % nodes);
  }
  return edges;
}

Edges Complete(int nodes) {
  Edges edges;
  for (int i = 0; i < nodes; ++i) {
    for (int j = 0; j < i; ++j)
      edges.emplace_back(i, j);
  }
  return edges;
}

std::vector<Form> Forms() {
  return {
      {"chain", [](int nodes, std::mt19937*) { return Chain(nodes); }},
      {"tree", Tree},
      {"series-parallel", SeriesParallel},
      {"dense", Dense},
      {"complete", [](int nodes, std::mt19937*) { return Complete(nodes); }}};
}

AssignmentProblem MakeProblem(const Edges& edges,
                              int nodes,
                              int most,
                              double forbidden,
                              std::mt19937* random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto cost = [&] {
    if (uniform(*random) < forbidden) return kForbidden;
    return most > 0 ? double(Below(random, most + 1)) : uniform(*random) * 1e-5;
  };
  AssignmentProblem problem;
  for (int i = 0; i < nodes; ++i) {
    std::vector<double> costs(1 + Below(random, 4));
    std::generate(costs.begin(), costs.end(), cost);
    problem.AddNode(costs);
  }
  for (const auto& [u, v] : edges) {
    std::vector<double> costs(problem.nodes[u].size() *
                              problem.nodes[v].size());
    std::generate(costs.begin(), costs.end(), cost);
    problem.AddEdge(u, v, costs);
  }
  return problem;
}

AssignmentOptions WithoutElimination(int sweeps) {
  AssignmentOptions options;
  options.table_entries = 0;
  options.sweeps = sweeps;
  return options;
}

void ExpectHonest(const AssignmentProblem& problem,
                  const Optimum& optimum,
                  const Assignment& result) {
  const double rounding = 1e-9 * optimum.cost;
  EXPECT_EQ(result.cost, CostOf(problem, result.choices));
  EXPECT_GE(result.cost, optimum.cost - rounding);
  EXPECT_LE(result.lower_bound, result.cost);
  EXPECT_LE(result.lower_bound, optimum.cost + rounding);
  EXPECT_GE(result.gap(), 0);
  EXPECT_LE(result.gap(), 1);
  if (!result.exact) return;
  EXPECT_NEAR(result.cost, optimum.cost, rounding);
  EXPECT_EQ(result.lower_bound, result.cost);
  EXPECT_EQ(result.gap(), 0);
}

}  // namespace sluice::framework
