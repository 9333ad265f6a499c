#include "tests/framework/assignment/small_problems.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice::framework {
namespace {

using platform::ErrorCode;
using sluice::testing::ExpectError;

TEST(AssignmentTest, IsOptimalOnSmallGraphsOfEveryForm) {
  std::mt19937 random(1);
  for (const Form& form : Forms()) {
    for (int round = 0; round < 150; ++round) {
      SCOPED_TRACE(form.name + " " + std::to_string(round));
      const int nodes = 1 + Below(&random, 8);
      const AssignmentProblem problem = MakeProblem(
          form.make(nodes, &random), nodes, round % 3 * 5, 0, &random);
      const Optimum optimum = BruteForce(problem);
      const Assignment result = Solve(problem);
      EXPECT_TRUE(result.exact);
      ExpectHonest(problem, optimum, result);
      if (optimum.unique) {
        EXPECT_EQ(result.choices, optimum.choices);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(AssignmentTest, ForbiddenChoicesAndPairsAreNeverTaken) {
  std::mt19937 random(2);
  int feasible = 0;
  int infeasible = 0;
  for (const Form& form : Forms()) {
    for (int round = 0; round < 150; ++round) {
      SCOPED_TRACE(form.name + " " + std::to_string(round));
      const int nodes = 1 + Below(&random, 7);
      const AssignmentProblem problem =
          MakeProblem(form.make(nodes, &random), nodes, round % 3 * 5,
                      0.1 + 0.1 * (round % 4), &random);
      const Optimum optimum = BruteForce(problem);
      if (optimum.cost == kForbidden) {
        ++infeasible;
        ExpectError(ErrorCode::kFailedPrecondition, "assignment.infeasible", {},
                    [&] { Solve(problem); });
      } else {
        ++feasible;
        const Assignment result = Solve(problem);
        EXPECT_TRUE(result.exact);
        ExpectHonest(problem, optimum, result);
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(feasible, 100);
  EXPECT_GT(infeasible, 100);
}

TEST(AssignmentTest, ReductionsAloneSolveSeriesParallelGraphs) {
  std::mt19937 random(3);
  const std::vector<Form> forms = Forms();
  for (int form = 0; form < kReducible; ++form) {
    for (int round = 0; round < 60; ++round) {
      SCOPED_TRACE(forms[form].name + " " + std::to_string(round));
      const AssignmentProblem problem =
          MakeProblem(forms[form].make(8, &random), 8, 0, 0, &random);
      const Assignment result = Solve(problem, WithoutElimination(0));
      EXPECT_TRUE(result.exact);
      ExpectHonest(problem, BruteForce(problem), result);
    }
  }
}

TEST(AssignmentTest, TablesBelowTheLimitMakeItExact) {
  // Seven nodes of three choices, each beside each other: the first table has
  // 3^7 entries.
  std::mt19937 random(6);
  const Edges edges = Complete(7);
  AssignmentProblem problem;
  for (int i = 0; i < 7; ++i)
    problem.AddNode({0, 0, 0});
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const auto& [u, v] : edges) {
    std::vector<double> costs(9);
    for (double& cost : costs)
      cost = uniform(random);
    problem.AddEdge(u, v, costs);
  }
  AssignmentOptions options;
  options.sweeps = 0;
  options.table_entries = 2187;
  const Assignment exact = Solve(problem, options);
  EXPECT_TRUE(exact.exact);
  EXPECT_NEAR(exact.cost, BruteForce(problem).cost, 1e-12);
  options.table_entries = 2186;
  EXPECT_FALSE(Solve(problem, options).exact);
  options.table_entries = 2187;
  options.table_entries_per_node = 1;  // of 2,000 nodes
  EXPECT_FALSE(Solve(problem, options).exact);
}

TEST(AssignmentTest, AProblemWithoutNodesCostsNothing) {
  const Assignment result = Solve({});
  EXPECT_TRUE(result.choices.empty());
  EXPECT_EQ(result.cost, 0);
  EXPECT_EQ(result.gap(), 0);
  EXPECT_TRUE(result.exact);
}

TEST(AssignmentTest, ANodeAloneTakesItsCheapestChoice) {
  AssignmentProblem problem;
  problem.AddNode({3, kForbidden, 2, 5});
  const Assignment result = Solve(problem);
  EXPECT_EQ(result.choices, std::vector<int>{2});
  EXPECT_EQ(result.cost, 2);
  EXPECT_TRUE(result.exact);
}

TEST(AssignmentTest, NodesWithOneChoiceDecideForTheirNeighbours) {
  // A hub whose five neighbours have no choice: each pays 1 for choice 0.
  AssignmentProblem problem;
  const int hub = problem.AddNode({0, 4});
  for (int i = 0; i < 5; ++i)
    problem.AddEdge(hub, problem.AddNode({1}), {1, 0});
  const Assignment result = Solve(problem, WithoutElimination(0));
  EXPECT_EQ(result.choices, (std::vector<int>{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(result.cost, 9);
  EXPECT_TRUE(result.exact);
}

TEST(AssignmentTest, ParallelEdgesAddUpInBothDirections) {
  AssignmentProblem problem;
  const int u = problem.AddNode({0, 0});
  const int v = problem.AddNode({0, 0, 0});
  problem.AddEdge(u, v, {1, 5, 9, 9, 9, 2});
  problem.AddEdge(v, u, {9, 9, 1, 9, 9, 9});
  const Assignment result = Solve(problem);
  EXPECT_EQ(result.choices, (std::vector<int>{0, 1}));  // 5 + 1
  EXPECT_EQ(result.cost, 6);
}

TEST(AssignmentTest, AFasterKernelIsNotWorthItsConversions) {
  // The middle op's fast kernel wants another layout than its neighbours have.
  AssignmentProblem problem;
  const int first = problem.AddNode({10});
  const int middle = problem.AddNode({7, 10});
  const int last = problem.AddNode({10});
  const int conversion = problem.AddMatrix({2, 0});
  problem.AddEdge(first, middle, conversion);
  problem.AddEdge(middle, last, conversion);
  EXPECT_EQ(Solve(problem).choices[middle], 1);
  problem.nodes[middle][0] = 5;
  EXPECT_EQ(Solve(problem).choices[middle], 0);
}

}  // namespace
}  // namespace sluice::framework
