#include <algorithm>
#include <cmath>

#include "tests/framework/assignment/small_problems.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice::framework {
namespace {

TEST(AssignmentTest, ClaimsOnlyWhatIsTrueWhereItApproximates) {
  std::mt19937 random(4);
  int optimal = 0;
  int inexact = 0;
  const std::vector<Form> forms = Forms();
  for (size_t i = kReducible; i < forms.size(); ++i) {
    const Form& form = forms[i];
    for (int round = 0; round < 300; ++round) {
      SCOPED_TRACE(form.name + " " + std::to_string(round));
      const int nodes = 5 + Below(&random, 4);
      const AssignmentProblem problem = MakeProblem(
          form.make(nodes, &random), nodes, round % 3 * 5, 0, &random);
      const Optimum optimum = BruteForce(problem);
      const Assignment result =
          Solve(problem, WithoutElimination(round % 4 * 10));
      ExpectHonest(problem, optimum, result);
      if (result.cost < optimum.cost * (1 + 1e-9)) ++optimal;
      if (!result.exact) ++inexact;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(optimal, 500);
  EXPECT_GT(inexact, 50);
}

TEST(AssignmentTest, ApproximatesAroundForbiddenPairs) {
  std::mt19937 random(5);
  int solved = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const AssignmentProblem problem =
        MakeProblem(Complete(7), 7, round % 3 * 5, 0.15, &random);
    const Optimum optimum = BruteForce(problem);
    try {
      const Assignment result = Solve(problem, WithoutElimination(20));
      ASSERT_LT(optimum.cost, kForbidden);
      ExpectHonest(problem, optimum, result);
      ++solved;
    } catch (const platform::Error& error) {
      if (error.check_id() == "assignment.infeasible") {
        EXPECT_EQ(optimum.cost, kForbidden);
      } else {
        EXPECT_EQ(error.check_id(), "assignment.not_found");
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(solved, 30);
}

TEST(AssignmentTest, ForbidsWithoutLosingSmallCosts) {
  // A ring with a chord, so that nothing reduces it to nothing at once; the
  // largest allowed costs beside microseconds.
  AssignmentProblem problem;
  for (int i = 0; i < 6; ++i)
    problem.AddNode({1e-6, 2e-6, kMostAssignmentCost});
  const int matrix =
      problem.AddMatrix({kForbidden, 1e-6, kMostAssignmentCost, 1e-6,
                         kForbidden, 0, kMostAssignmentCost, 0, kForbidden});
  for (const auto& [u, v] : Edges{{0, 1},
                                  {1, 2},
                                  {2, 3},
                                  {3, 4},
                                  {4, 5},
                                  {5, 0},
                                  {0, 3},
                                  {1, 4},
                                  {2, 5}})
    problem.AddEdge(u, v, matrix);
  for (const AssignmentOptions& options :
       {AssignmentOptions(), WithoutElimination(20)}) {
    const Assignment result = Solve(problem, options);
    EXPECT_NEAR(result.cost, 3 * 1e-6 + 3 * 2e-6 + 9 * 1e-6, 1e-15);
    EXPECT_FALSE(std::isnan(result.lower_bound));
  }
}

// Kernels with one of three layouts each, and values that cost something to
// convert: each node reads two of the eight before it.
AssignmentProblem MakeLayoutProblem(int nodes, std::mt19937* random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  AssignmentProblem problem;
  std::vector<std::vector<int>> layouts(nodes);
  for (int i = 0; i < nodes; ++i) {
    std::vector<double> costs(2 + Below(random, 5));
    for (double& cost : costs) {
      cost = 1 + uniform(*random);
      layouts[i].push_back(Below(random, 3));
    }
    problem.AddNode(costs);
    for (int input = 0; input < 2 && i > 0; ++input) {
      const int from = std::max(0, i - 1 - Below(random, 8));
      const double conversion = 0.1 + 1.4 * uniform(*random);
      std::vector<double> matrix;
      for (const int a : layouts[from]) {
        for (const int b : layouts[i])
          matrix.push_back(a == b ? 0 : conversion * (1 + (a + b) % 2));
      }
      problem.AddEdge(from, i, matrix);
    }
  }
  return problem;
}

TEST(AssignmentTest, ApproximatesLayoutsWithinOnePercent) {
  std::mt19937 random(20);
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    const AssignmentProblem problem = MakeLayoutProblem(150, &random);
    AssignmentOptions large;
    large.table_entries_per_node = 1 << 16;
    const Assignment best = Solve(problem, large);
    ASSERT_TRUE(best.exact);
    const Assignment result = Solve(problem, WithoutElimination(20));
    ExpectHonest(problem, {best.cost, best.choices, false}, result);
    EXPECT_LT(result.cost, 1.01 * best.cost);
    EXPECT_LT(result.gap(), 0.01);
    // Without a bound to go by it is not as good.
    const Assignment rough = Solve(problem, WithoutElimination(0));
    ExpectHonest(problem, {best.cost, best.choices, false}, rough);
    EXPECT_LT(rough.cost, 1.05 * best.cost);
  }
}

}  // namespace
}  // namespace sluice::framework
