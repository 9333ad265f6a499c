#include <cmath>

#include "tests/framework/assignment/small_problems.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice::framework {
namespace {

using platform::ErrorCode;
using sluice::testing::ExpectError;

TEST(AssignmentTest, RefusesBadNodes) {
  ExpectError(ErrorCode::kInvalidArgument, "assignment.no_choice", {"node 1"},
              [] {
                AssignmentProblem problem;
                problem.AddNode({1});
                problem.AddNode({});
                Solve(problem);
              });
  for (const double cost : {-1e-9, std::nan(""), -kForbidden, 1e201}) {
    ExpectError(ErrorCode::kInvalidArgument, "assignment.node_cost",
                {"choice 1 of node 0"}, [&] {
                  AssignmentProblem problem;
                  problem.AddNode({1, cost});
                  Solve(problem);
                });
  }
}

TEST(AssignmentTest, RefusesBadMatrices) {
  AssignmentProblem problem;
  problem.AddNode({1, 2});
  problem.AddNode({1, 2, 3});
  for (const double cost : {-1e-9, std::nan(""), -kForbidden, 1e201}) {
    ExpectError(ErrorCode::kInvalidArgument, "assignment.matrix_cost",
                {"matrix 0"}, [&] {
                  AssignmentProblem bad = problem;
                  bad.AddEdge(0, 1, {0, 0, 0, 0, 0, cost});
                  Solve(bad);
                });
  }
  for (const size_t size : {0, 5, 7}) {
    ExpectError(ErrorCode::kInvalidArgument, "assignment.matrix_size",
                {"matrix 0 of edge 0", "expected 2 x 3", "node 0 and node 1"},
                [&] {
                  AssignmentProblem bad = problem;
                  bad.AddEdge(0, 1, std::vector<double>(size));
                  Solve(bad);
                });
  }
  for (const int matrix : {-1, 1}) {
    ExpectError(ErrorCode::kInvalidArgument, "assignment.edge_matrix",
                {"edge 0 has matrix", "there are 1"}, [&] {
                  AssignmentProblem bad = problem;
                  bad.AddMatrix(std::vector<double>(6));
                  bad.AddEdge(0, 1, matrix);
                  Solve(bad);
                });
  }
}

TEST(AssignmentTest, RefusesBadEdges) {
  AssignmentProblem problem;
  problem.AddNode({1, 2});
  problem.AddNode({1, 2});
  const int matrix = problem.AddMatrix({0, 1, 1, 0});
  for (const auto& [u, v] : Edges{{-1, 0}, {0, 2}}) {
    ExpectError(ErrorCode::kInvalidArgument, "assignment.edge_node",
                {"edge 0 is at node"}, [&, u = u, v = v] {
                  AssignmentProblem bad = problem;
                  bad.AddEdge(u, v, matrix);
                  Solve(bad);
                });
  }
  ExpectError(ErrorCode::kInvalidArgument, "assignment.self_edge",
              {"edge 0 connects node 1 to itself"}, [&] {
                AssignmentProblem bad = problem;
                bad.AddEdge(1, 1, matrix);
                Solve(bad);
              });
}

TEST(AssignmentTest, RefusesNegativeLimits) {
  AssignmentOptions options;
  options.sweeps = -1;
  ExpectError(ErrorCode::kInvalidArgument, "assignment.limits", {"sweeps -1"},
              [&] { Solve({}, options); });
}

}  // namespace
}  // namespace sluice::framework
