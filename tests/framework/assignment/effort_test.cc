#include <algorithm>
#include <ctime>

#include "tests/framework/assignment/small_problems.h"
#include <gtest/gtest.h>

namespace sluice::framework {
namespace {

// Processor time: the least of some runs, in seconds.
double SecondsOf(const AssignmentProblem& problem) {
  std::clock_t least = std::numeric_limits<std::clock_t>::max();
  for (int i = 0; i < 5; ++i) {
    const std::clock_t begin = std::clock();
    Solve(problem);
    least = std::min(least, std::clock() - begin);
  }
  return static_cast<double>(least) / CLOCKS_PER_SEC;
}

// For ten times the size. The larger problem does not fit into caches;
// quadratic time would give 100 and more.
constexpr double kMostRatio = 60;

TEST(AssignmentTest, TakesTimeLinearInTheLengthOfAChain) {
  std::mt19937 random(11);
  const auto chain = [&](int nodes) {
    return MakeProblem(Chain(nodes), nodes, 0, 0, &random);
  };
  EXPECT_LT(SecondsOf(chain(100000)), kMostRatio * SecondsOf(chain(10000)));
}

TEST(AssignmentTest, TakesTimeLinearInTheEdgesOfAHub) {
  // Two nodes, each connected to all others, which form a chain.
  const auto problem = [](int nodes) {
    std::mt19937 random(12);
    Edges edges = Chain(nodes);
    for (int i = 2; i < nodes; ++i) {
      edges.emplace_back(0, i);
      if (i > 2) edges.emplace_back(1, i);
    }
    return MakeProblem(edges, nodes, 0, 0, &random);
  };
  EXPECT_LT(SecondsOf(problem(20000)), kMostRatio * SecondsOf(problem(2000)));
}

TEST(AssignmentTest, SlowSolvesALargeRandomGraph) {
  std::mt19937 random(13);
  Edges edges;
  for (int i = 1; i < 100000; ++i) {
    edges.emplace_back(Below(&random, i), i);
    edges.emplace_back(i, (i + 1 + Below(&random, 40)) % 100000);
  }
  const AssignmentProblem problem = MakeProblem(edges, 100000, 0, 0, &random);
  const Assignment result = Solve(problem);
  EXPECT_EQ(result.cost, CostOf(problem, result.choices));
  EXPECT_LE(result.lower_bound, result.cost);
  EXPECT_LT(result.gap(), 0.2);
}

}  // namespace
}  // namespace sluice::framework
