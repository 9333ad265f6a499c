#include "sluice/framework/plan/assignment/message_passing.h"

#include <algorithm>

namespace sluice::framework::assignment {

MessagePassing::MessagePassing(const Pairwise& problem,
                               const Incidence& incidence)
    : problem_(problem),
      incidence_(incidence),
      costs_(problem.costs),
      greedy_(problem.nodes()),
      kept_(problem.costs.size(), 1) {
  int next = 0;
  message_first_.reserve(2 * problem.edges.size());
  for (const PairwiseEdge& edge : problem.edges) {
    message_first_.push_back(next);
    next += problem.choices(edge.u);
    message_first_.push_back(next);
    next += problem.choices(edge.v);
  }
  messages_.resize(next);
}

// The best choice given those of the nodes before it.
void MessagePassing::ChooseGreedily(int node) {
  const int first = problem_.first[node];
  const int choices = problem_.choices(node);
  scratch_.assign(costs_.begin() + first, costs_.begin() + first + choices);
  for (const Incident& edge : incidence_.of(node)) {
    if (edge.neighbour > node) continue;
    const double* message = Message(edge);
    for (int x = 0; x < choices; ++x) {
      scratch_[x] += edge.at(x, greedy_[edge.neighbour]) - message[x];
    }
  }
  greedy_[node] = static_cast<int>(
      std::min_element(scratch_.begin(), scratch_.end()) - scratch_.begin());
}

// Gives the node all that its edge can spare.
void MessagePassing::Pull(const Incident& edge, int node) {
  double* message = Message(edge);
  const double* other = OtherMessage(edge);
  double* costs = &costs_[problem_.first[node]];
  const int others = problem_.choices(edge.neighbour);
  for (int x = 0; x < problem_.choices(node); ++x) {
    const double* row = edge.costs + x * edge.stride;
    double least = kForbidden;
    for (int y = 0; y < others; ++y) {
      least = std::min(least, row[y * edge.neighbour_stride] - other[y]);
    }
    costs[x] += least - message[x];
    message[x] = least;
  }
}

void MessagePassing::Visit(int node, Direction direction, double upper_bound) {
  const bool forward = direction == Direction::kForward;
  int next = 0;
  int previous = 0;
  for (const Incident& edge : incidence_.of(node)) {
    if ((edge.neighbour > node) == forward) {
      ++next;
    } else {
      ++previous;
      Pull(edge, node);
    }
  }
  double* costs = &costs_[problem_.first[node]];
  const int choices = problem_.choices(node);
  const double least = *std::min_element(costs, costs + choices);
  bound_ += least;
  for (int x = 0; x < choices; ++x) {
    costs[x] -= least;
    char& kept = kept_[problem_.first[node] + x];
    if (kept != 0 && bound_ + costs[x] > upper_bound) {
      kept = 0;
      ++removed_;
    }
  }
  if (next == 0) return;
  const int most = std::max(next, previous);
  const double share = 1.0 / most;
  for (const Incident& edge : incidence_.of(node)) {
    if ((edge.neighbour > node) != forward) continue;
    double* message = Message(edge);
    for (int x = 0; x < choices; ++x) {
      message[x] -= share * costs[x];
    }
  }
  const double rest = static_cast<double>(most - next) / most;
  for (int x = 0; x < choices; ++x) {
    costs[x] *= rest;
  }
}

void MessagePassing::Sweep(double upper_bound) {
  for (int node = 0; node < problem_.nodes(); ++node) {
    ChooseGreedily(node);
    Visit(node, Direction::kForward, upper_bound);
  }
  for (int node = problem_.nodes() - 1; node >= 0; --node) {
    Visit(node, Direction::kBackward, upper_bound);
  }
}

Restricted MessagePassing::Remaining(const std::vector<int>& best) const {
  std::vector<char> kept = kept_;
  for (size_t node = 0; node < best.size(); ++node) {
    kept[problem_.first[node] + best[node]] = 1;
  }
  Restricted part = Restrict(problem_, kept);
  Pairwise& problem = part.problem;
  size_t entry = 0;
  for (size_t choice = 0; choice < kept.size(); ++choice) {
    if (kept[choice] != 0) problem.costs[entry++] = costs_[choice];
  }
  entry = 0;
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const PairwiseEdge& edge = problem.edges[e];
    const double* of_u = &messages_[message_first_[2 * e]];
    const double* of_v = &messages_[message_first_[2 * e + 1]];
    const int* rows = &part.original[problem.first[edge.u]];
    const int* columns = &part.original[problem.first[edge.v]];
    for (int row = 0; row < problem.choices(edge.u); ++row) {
      for (int column = 0; column < problem.choices(edge.v); ++column) {
        problem.matrices[entry++] -= of_u[rows[row]] + of_v[columns[column]];
      }
    }
  }
  return part;
}

}  // namespace sluice::framework::assignment
