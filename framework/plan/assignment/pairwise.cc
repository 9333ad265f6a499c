#include "sluice/framework/plan/assignment/pairwise.h"

#include <algorithm>

namespace sluice::framework::assignment {

void Pairwise::AddNode(std::span<const double> node_costs) {
  costs.insert(costs.end(), node_costs.begin(), node_costs.end());
  first.push_back(static_cast<int>(costs.size()));
}

double Pairwise::CostOf(const std::vector<int>& choice) const {
  double sum = 0;
  for (int node = 0; node < nodes(); ++node) {
    sum += costs_of(node)[choice[node]];
  }
  for (const PairwiseEdge& edge : edges) {
    sum += edge.at(choice[edge.u], choice[edge.v]);
  }
  return sum;
}

Incidence::Incidence(const Pairwise& problem)
    : first_(problem.nodes() + 1), incidents_(2 * problem.edges.size()) {
  for (const PairwiseEdge& edge : problem.edges) {
    ++first_[edge.u + 1];
    ++first_[edge.v + 1];
  }
  for (int node = 0; node < problem.nodes(); ++node) {
    first_[node + 1] += first_[node];
  }
  std::vector<int> next(first_.begin(), first_.end() - 1);
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const PairwiseEdge& edge = problem.edges[e];
    const int index = static_cast<int>(e);
    incidents_[next[edge.u]++] = {
        index, 0, edge.v, edge.costs, edge.u_stride, edge.v_stride};
    incidents_[next[edge.v]++] = {
        index, 1, edge.u, edge.costs, edge.v_stride, edge.u_stride};
  }
}

std::vector<int> Restricted::Widen(const std::vector<int>& choice) const {
  std::vector<int> wide(choice.size());
  for (int node = 0; node < problem.nodes(); ++node) {
    wide[node] = original[problem.first[node] + choice[node]];
  }
  return wide;
}

std::vector<int> Restricted::Narrow(const std::vector<int>& choice) const {
  std::vector<int> narrow(choice.size());
  for (int node = 0; node < problem.nodes(); ++node) {
    const auto begin = original.begin() + problem.first[node];
    const auto end = original.begin() + problem.first[node + 1];
    narrow[node] =
        static_cast<int>(std::lower_bound(begin, end, choice[node]) - begin);
  }
  return narrow;
}

Restricted Restrict(const Pairwise& problem, const std::vector<char>& kept) {
  Restricted part;
  std::vector<double> costs;
  for (int node = 0; node < problem.nodes(); ++node) {
    costs.clear();
    for (int choice = 0; choice < problem.choices(node); ++choice) {
      if (kept[problem.first[node] + choice] == 0) continue;
      costs.push_back(problem.costs_of(node)[choice]);
      part.original.push_back(choice);
    }
    part.problem.AddNode(costs);
  }
  size_t entries = 0;
  for (const PairwiseEdge& edge : problem.edges) {
    entries +=
        size_t{1} * part.problem.choices(edge.u) * part.problem.choices(edge.v);
  }
  // Edges point into it, so that it must not move.
  std::vector<double>& matrices = part.problem.matrices;
  matrices.reserve(entries);
  part.problem.edges.reserve(problem.edges.size());
  for (const PairwiseEdge& edge : problem.edges) {
    const double* begin = matrices.data() + matrices.size();
    const int* rows = &part.original[part.problem.first[edge.u]];
    const int* columns = &part.original[part.problem.first[edge.v]];
    const int row_count = part.problem.choices(edge.u);
    const int column_count = part.problem.choices(edge.v);
    for (int row = 0; row < row_count; ++row) {
      for (int column = 0; column < column_count; ++column) {
        matrices.push_back(edge.at(rows[row], columns[column]));
      }
    }
    part.problem.edges.push_back({edge.u, edge.v, begin, column_count, 1});
  }
  return part;
}

}  // namespace sluice::framework::assignment
