#include <algorithm>
#include <numeric>

#include "tests/framework/assignment/small_problems.h"
#include <gtest/gtest.h>

namespace sluice::framework {
namespace {

TEST(AssignmentTest, OrderOfNodesAndEdgesDoesNotChangeAUniqueOptimum) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    const int nodes = 30;
    const AssignmentProblem problem =
        MakeProblem(SeriesParallel(nodes, &random), nodes, 0, 0, &random);
    std::vector<int> place(nodes);
    std::iota(place.begin(), place.end(), 0);
    std::shuffle(place.begin(), place.end(), random);
    AssignmentProblem other;
    other.nodes.resize(nodes);
    for (int i = 0; i < nodes; ++i)
      other.nodes[place[i]] = problem.nodes[i];
    for (const auto& [u, v, matrix] : problem.edges) {
      other.AddEdge(place[u], place[v], problem.matrices[matrix]);
    }
    std::shuffle(other.edges.begin(), other.edges.end(), random);
    const Assignment result = Solve(problem);
    const Assignment shuffled = Solve(other);
    for (int i = 0; i < nodes; ++i) {
      ASSERT_EQ(result.choices[i], shuffled.choices[place[i]]) << round;
    }
  }
}

TEST(AssignmentTest, TheSameProblemHasTheSameSolution) {
  std::mt19937 random(8);
  const AssignmentProblem problem =
      MakeProblem(Dense(200, &random), 200, 3, 0, &random);
  const Assignment first = Solve(problem);
  for (int i = 0; i < 5; ++i) {
    const AssignmentProblem copy = problem;  // at other addresses
    const Assignment again = Solve(copy);
    EXPECT_EQ(again.choices, first.choices);
    EXPECT_EQ(again.cost, first.cost);
    EXPECT_EQ(again.lower_bound, first.lower_bound);
  }
}

TEST(AssignmentTest, OfEqualChoicesTheFirstIsTaken) {
  for (const Form& form : Forms()) {
    std::mt19937 random(9);
    AssignmentProblem problem;
    for (int i = 0; i < 8; ++i)
      problem.AddNode({2, 1, 1, 1});
    const int matrix = problem.AddMatrix(std::vector<double>(16, 1));
    for (const auto& [u, v] : form.make(8, &random)) {
      problem.AddEdge(u, v, matrix);
    }
    const std::vector<int> firsts(8, 1);
    EXPECT_EQ(Solve(problem).choices, firsts) << form.name;
    EXPECT_EQ(Solve(problem, WithoutElimination(10)).choices, firsts)
        << form.name;
  }
}

}  // namespace
}  // namespace sluice::framework
