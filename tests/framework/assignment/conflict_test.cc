#include "tests/framework/assignment/small_problems.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice::framework {
namespace {

using platform::ErrorCode;
using sluice::testing::ExpectError;

// The nodes that the message names.
std::vector<int> Named(const std::string& message) {
  std::vector<int> nodes;
  for (size_t at = message.find("node "); at != std::string::npos;
       at = message.find("node ", at + 1)) {
    nodes.push_back(std::stoi(message.substr(at + 5)));
  }
  return nodes;
}

AssignmentProblem PartOf(const AssignmentProblem& problem,
                         const std::vector<int>& nodes) {
  AssignmentProblem part;
  std::vector<int> place(problem.nodes.size(), -1);
  for (const int node : nodes)
    place[node] = part.AddNode(problem.nodes[node]);
  for (const auto& [u, v, matrix] : problem.edges) {
    if (place[u] < 0 || place[v] < 0) continue;
    part.AddEdge(place[u], place[v], problem.matrices[matrix]);
  }
  return part;
}

TEST(AssignmentTest, NamesNodesNoneOfWhichCouldBeLeftOut) {
  std::mt19937 random(10);
  int several = 0;
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const AssignmentProblem problem =
        MakeProblem(Dense(7, &random), 7, 5, 0.35, &random);
    std::string message;
    try {
      Solve(problem);
      continue;
    } catch (const platform::Error& error) {
      message = error.what();
    }
    const std::vector<int> nodes = Named(message);
    ASSERT_FALSE(nodes.empty()) << message;
    EXPECT_EQ(BruteForce(PartOf(problem, nodes)).cost, kForbidden) << message;
    for (const int without : nodes) {
      std::vector<int> fewer = nodes;
      std::erase(fewer, without);
      EXPECT_LT(BruteForce(PartOf(problem, fewer)).cost, kForbidden) << message;
    }
    if (nodes.size() > 2) ++several;
  }
  EXPECT_GT(several, 10);
}

TEST(AssignmentTest, FindsTheConflictInALongChain) {
  // Neighbours choose the same; nodes 500 and 503 may not.
  AssignmentProblem problem;
  for (int i = 0; i < 2000; ++i)
    problem.AddNode({1, 1});
  const int same = problem.AddMatrix({0, kForbidden, kForbidden, 0});
  for (int i = 1; i < 2000; ++i)
    problem.AddEdge(i - 1, i, same);
  problem.nodes[500] = {1, kForbidden};
  problem.nodes[503] = {kForbidden, 1};
  AssignmentOptions options;
  options.node_name = [](int node) { return "op" + std::to_string(node); };
  ExpectError(ErrorCode::kFailedPrecondition, "assignment.infeasible",
              {"op500, op501, op502 and op503 cannot be satisfied together"},
              [&] { Solve(problem, options); });
  problem.nodes[7] = {kForbidden, kForbidden};
  problem.nodes[500] = {1, 1};
  ExpectError(ErrorCode::kFailedPrecondition, "assignment.infeasible",
              {"every choice of op7 is forbidden"},
              [&] { Solve(problem, options); });
}

TEST(AssignmentTest, CountsTheNodesOfALargeConflict) {
  AssignmentProblem problem;
  for (int i = 0; i < 30; ++i)
    problem.AddNode({1, 1});
  const int same = problem.AddMatrix({0, kForbidden, kForbidden, 0});
  for (int i = 1; i < 30; ++i)
    problem.AddEdge(i - 1, i, same);
  problem.nodes.front() = {1, kForbidden};
  problem.nodes.back() = {kForbidden, 1};
  ExpectError(ErrorCode::kFailedPrecondition, "assignment.infeasible",
              {"node 0, node 1, node 2", "node 9 and 20 more"},
              [&] { Solve(problem); });
}

TEST(AssignmentTest, SaysWhenItFoundNothingButProvedNothing) {
  // Four colours for five nodes that all differ: true of every three of them.
  AssignmentProblem problem;
  std::vector<double> differ(16, 0);
  for (int i = 0; i < 4; ++i)
    differ[i * 5] = kForbidden;
  const int matrix = problem.AddMatrix(differ);
  for (int i = 0; i < 5; ++i) {
    problem.AddNode({1, 1, 1, 1});
    for (int j = 0; j < i; ++j)
      problem.AddEdge(j, i, matrix);
  }
  ExpectError(ErrorCode::kFailedPrecondition, "assignment.infeasible",
              {"node 0, node 1, node 2, node 3 and node 4"},
              [&] { Solve(problem); });
  ExpectError(ErrorCode::kResourceExhausted, "assignment.not_found", {"5"},
              [&] { Solve(problem, WithoutElimination(20)); });
}

TEST(AssignmentTest, AnInfeasiblePartIsFoundBesideOneThatIsNotSolved) {
  // Five nodes with four colours, and four nodes two of which allow nothing.
  AssignmentProblem problem;
  std::vector<double> differ(16, 0);
  for (int i = 0; i < 4; ++i)
    differ[i * 5] = kForbidden;
  const int colours = problem.AddMatrix(differ);
  const int nothing = problem.AddMatrix(std::vector<double>(16, kForbidden));
  const int anything = problem.AddMatrix(std::vector<double>(16, 0));
  for (int i = 0; i < 9; ++i)
    problem.AddNode({1, 1, 1, 1});
  for (const auto& [u, v] : Complete(5)) {
    problem.AddEdge(u, v, colours);
  }
  for (const auto& [u, v] : Complete(4)) {
    problem.AddEdge(5 + u, 5 + v, u + v == 3 && u > 2 ? nothing : anything);
  }
  ExpectError(ErrorCode::kFailedPrecondition, "assignment.infeasible",
              {"node 5 and node 8 cannot be satisfied together"},
              [&] { Solve(problem, WithoutElimination(20)); });
}

}  // namespace
}  // namespace sluice::framework
