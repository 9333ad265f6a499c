#include "sluice/framework/plan/assignment/assignment.h"

#include <algorithm>
#include <utility>

#include "sluice/framework/plan/assignment/pairwise.h"
#include "sluice/framework/plan/assignment/solver.h"
#include "sluice/platform/error.h"

namespace sluice::framework {
namespace {

using assignment::Outcome;
using assignment::Pairwise;
using assignment::Solution;
using platform::ErrorCode;

// Nodes of all problems that are solved in order to find out which cannot be
// satisfied together, for each node of the whole problem.
constexpr int64_t kConflictEffort = 64;
constexpr size_t kNodesInMessage = 10;
// Smaller problems may take the effort that one of so many nodes may.
constexpr int64_t kFewNodes = 2000;

std::string NameOf(int node, const AssignmentOptions& options) {
  return options.node_name ? options.node_name(node)
                           : platform::Format("node {}", node);
}

bool IsCost(double cost) {
  return cost >= 0 &&
         (cost <= kMostAssignmentCost || cost == assignment::kForbidden);
}

void CheckNodes(const AssignmentProblem& problem,
                const AssignmentOptions& options) {
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const int node = static_cast<int>(i);
    SLUICE_ENFORCE(!problem.nodes[i].empty(), ErrorCode::kInvalidArgument,
                   "assignment.no_choice",
                   "assignment: {} has no choice, expected at least one",
                   NameOf(node, options));
    for (size_t choice = 0; choice < problem.nodes[i].size(); ++choice) {
      SLUICE_ENFORCE(
          IsCost(problem.nodes[i][choice]), ErrorCode::kInvalidArgument,
          "assignment.node_cost",
          "assignment: choice {} of {} costs {}, expected 0 to {}, or infinity",
          choice, NameOf(node, options), problem.nodes[i][choice],
          kMostAssignmentCost);
    }
  }
}

void CheckMatrices(const AssignmentProblem& problem) {
  for (size_t i = 0; i < problem.matrices.size(); ++i) {
    for (const double cost : problem.matrices[i]) {
      SLUICE_ENFORCE(IsCost(cost), ErrorCode::kInvalidArgument,
                     "assignment.matrix_cost",
                     "assignment: matrix {} has the cost {}, expected 0 to {}, "
                     "or infinity",
                     i, cost, kMostAssignmentCost);
    }
  }
}

void CheckEdges(const AssignmentProblem& problem,
                const AssignmentOptions& options) {
  const int nodes = static_cast<int>(problem.nodes.size());
  const int matrices = static_cast<int>(problem.matrices.size());
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const AssignmentProblem::Edge& edge = problem.edges[i];
    for (const int node : {edge.u, edge.v}) {
      SLUICE_ENFORCE(node >= 0 && node < nodes, ErrorCode::kInvalidArgument,
                     "assignment.edge_node",
                     "assignment: edge {} is at node {}, and there are {}", i,
                     node, nodes);
    }
    SLUICE_ENFORCE(edge.u != edge.v, ErrorCode::kInvalidArgument,
                   "assignment.self_edge",
                   "assignment: edge {} connects {} to itself", i,
                   NameOf(edge.u, options));
    SLUICE_ENFORCE(edge.matrix >= 0 && edge.matrix < matrices,
                   ErrorCode::kInvalidArgument, "assignment.edge_matrix",
                   "assignment: edge {} has matrix {}, and there are {}", i,
                   edge.matrix, matrices);
    const size_t rows = problem.nodes[edge.u].size();
    const size_t columns = problem.nodes[edge.v].size();
    const size_t size = problem.matrices[edge.matrix].size();
    SLUICE_ENFORCE(
        size == rows * columns, ErrorCode::kInvalidArgument,
        "assignment.matrix_size",
        "assignment: matrix {} of edge {} has {} costs, expected {} x {}, the "
        "choices of {} and {}",
        edge.matrix, i, size, rows, columns, NameOf(edge.u, options),
        NameOf(edge.v, options));
  }
}

// The nodes in `part`, in ascending order, and the edges between them.
Pairwise Part(const AssignmentProblem& problem, const std::vector<int>& part) {
  std::vector<int> place(problem.nodes.size(), -1);
  Pairwise pairwise;
  for (const int node : part) {
    place[node] = pairwise.nodes();
    pairwise.AddNode(problem.nodes[node]);
  }
  for (const AssignmentProblem::Edge& edge : problem.edges) {
    if (place[edge.u] < 0 || place[edge.v] < 0) continue;
    const auto columns = static_cast<ptrdiff_t>(problem.nodes[edge.v].size());
    pairwise.edges.push_back({place[edge.u], place[edge.v],
                              problem.matrices[edge.matrix].data(), columns,
                              1});
  }
  return pairwise;
}

// Leaves nodes out of an infeasible problem as long as it stays infeasible,
// first many at once. None could be left out of the result, unless the effort
// came to its limit.
std::vector<int> Conflict(const AssignmentProblem& problem,
                          std::vector<int> nodes,
                          assignment::Effort effort) {
  effort.sweeps = 0;
  int64_t effort_left = kConflictEffort * std::ssize(nodes);
  for (ptrdiff_t count = std::ssize(nodes); count > 1;) {
    count = (count + 1) / 2;
    for (ptrdiff_t begin = 0; begin < std::ssize(nodes) && nodes.size() > 1;) {
      const ptrdiff_t end = std::min(begin + count, std::ssize(nodes));
      std::vector<int> fewer(nodes.begin(), nodes.begin() + begin);
      fewer.insert(fewer.end(), nodes.begin() + end, nodes.end());
      effort_left -= std::ssize(nodes);
      if (effort_left < 0) return nodes;
      const Solution solution =
          assignment::SolvePairwise(Part(problem, fewer), effort);
      if (solution.outcome == Outcome::kInfeasible) {
        nodes = std::move(fewer);
      } else {
        begin = end;
      }
    }
  }
  return nodes;
}

std::string Names(const std::vector<int>& nodes,
                  const AssignmentOptions& options) {
  std::string names;
  const size_t count = std::min(nodes.size(), kNodesInMessage);
  for (size_t i = 0; i < count; ++i) {
    const bool last = i + 1 == nodes.size();
    if (i > 0) names += last ? " and " : ", ";
    names += NameOf(nodes[i], options);
  }
  if (nodes.size() > count) {
    names += platform::Format(" and {} more", nodes.size() - count);
  }
  return names;
}

double CostOf(const AssignmentProblem& problem,
              const std::vector<int>& choices) {
  double cost = 0;
  for (size_t node = 0; node < choices.size(); ++node) {
    cost += problem.nodes[node][choices[node]];
  }
  for (const AssignmentProblem::Edge& edge : problem.edges) {
    const size_t columns = problem.nodes[edge.v].size();
    cost +=
        problem
            .matrices[edge.matrix][choices[edge.u] * columns + choices[edge.v]];
  }
  return cost;
}

}  // namespace

Assignment Solve(const AssignmentProblem& problem,
                 const AssignmentOptions& options) {
  SLUICE_ENFORCE(options.table_entries >= 0 &&
                     options.table_entries_per_node >= 0 && options.sweeps >= 0,
                 ErrorCode::kInvalidArgument, "assignment.limits",
                 "assignment: expected limits of at least 0, got table_entries "
                 "{}, table_entries_per_node {}, sweeps {}",
                 options.table_entries, options.table_entries_per_node,
                 options.sweeps);
  CheckNodes(problem, options);
  CheckMatrices(problem);
  CheckEdges(problem, options);

  std::vector<int> nodes(problem.nodes.size());
  for (size_t node = 0; node < nodes.size(); ++node) {
    nodes[node] = static_cast<int>(node);
  }
  const int64_t times =
      nodes.empty() ? 1 : std::max<int64_t>(1, kFewNodes / std::ssize(nodes));
  const assignment::Effort effort = {options.table_entries,
                                     times * options.table_entries_per_node,
                                     times * options.sweeps};
  Solution solution = assignment::SolvePairwise(Part(problem, nodes), effort);
  if (solution.outcome == Outcome::kInfeasible) {
    const std::vector<int> conflict =
        Conflict(problem, std::move(nodes), effort);
    platform::Raise(
        ErrorCode::kFailedPrecondition, "assignment.infeasible",
        "assignment: {}",
        conflict.size() == 1
            ? platform::Format("every choice of {} is forbidden",
                               Names(conflict, options))
            : platform::Format("{} cannot be satisfied together: each "
                               "combination of their choices is forbidden",
                               Names(conflict, options)));
  }
  if (solution.outcome == Outcome::kNotFound) {
    platform::Raise(ErrorCode::kResourceExhausted, "assignment.not_found",
                    "assignment: within the limits, no assignment of the {} "
                    "nodes without a forbidden choice or pair was found",
                    nodes.size());
  }
  Assignment result;
  result.choices = std::move(solution.choice);
  result.cost = CostOf(problem, result.choices);
  result.exact = solution.exact;
  // Costs were added up in another order.
  const double rounding = 1e-12 * result.cost;
  result.lower_bound =
      result.exact
          ? result.cost
          : std::clamp(solution.lower_bound - rounding, 0.0, result.cost);
  return result;
}

}  // namespace sluice::framework
