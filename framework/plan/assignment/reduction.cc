#include "sluice/framework/plan/assignment/reduction.h"

#include <algorithm>

namespace sluice::framework::assignment {
namespace {

constexpr size_t kBlockEntries = 1 << 14;

// By node, smaller first.
uint64_t PairKey(int u, int v) {
  return (static_cast<uint64_t>(std::min(u, v)) << 32) |
         static_cast<uint64_t>(std::max(u, v));
}

}  // namespace

Reduction::Reduction(const Pairwise& problem)
    : problem_(problem),
      node_costs_(problem.costs),
      degree_(problem.nodes()),
      head_(problem.nodes(), -1) {
  sides_.reserve(2 * problem.edges.size());
  costs_.reserve(problem.edges.size());
  own_.reserve(problem.edges.size());
  edge_between_.reserve(problem.edges.size());
  for (const PairwiseEdge& edge : problem.edges) {
    AddEdge(edge);
  }
  for (int node = problem.nodes() - 1; node >= 0; --node) {
    if (degree_[node] <= 2) ready_[degree_[node]].push_back(node);
  }
  for (int node = 0; node < problem.nodes(); ++node) {
    if (problem.choices(node) == 1) Fold(node, 0);
  }
}

double* Reduction::Allocate(size_t entries) {
  if (free_ < entries) {
    free_ = std::max(entries, kBlockEntries);
    blocks_.push_back(std::make_unique<double[]>(free_));
  }
  free_ -= entries;
  return blocks_.back().get() + free_;
}

void Reduction::AddEdge(const PairwiseEdge& edge) {
  const int index = static_cast<int>(costs_.size());
  const auto [found, is_new] =
      edge_between_.try_emplace(PairKey(edge.u, edge.v), index);
  if (is_new) {
    costs_.push_back(edge.costs);
    own_.push_back(nullptr);
    const auto link = [&](int node, ptrdiff_t stride) {
      const int side = static_cast<int>(sides_.size());
      sides_.push_back({node, head_[node], -1, stride});
      if (head_[node] >= 0) sides_[head_[node]].previous = side;
      head_[node] = side;
      ++degree_[node];
    };
    link(edge.u, edge.u_stride);
    link(edge.v, edge.v_stride);
    return;
  }
  // Adds to the edge that is there, in a copy of its own.
  const auto old = static_cast<size_t>(found->second);
  const size_t u_side = 2 * old + (sides_[2 * old].node == edge.u ? 0 : 1);
  Side& u = sides_[u_side];
  Side& v = sides_[u_side ^ 1];
  const int rows = problem_.choices(edge.u);
  const int columns = problem_.choices(edge.v);
  const bool is_own = own_[old] != nullptr;
  double* sum = is_own ? own_[old] : Allocate(size_t{1} * rows * columns);
  const ptrdiff_t u_stride = is_own ? u.stride : columns;
  const ptrdiff_t v_stride = is_own ? v.stride : 1;
  for (int a = 0; a < rows; ++a) {
    for (int b = 0; b < columns; ++b) {
      sum[a * u_stride + b * v_stride] =
          costs_[old][a * u.stride + b * v.stride] + edge.at(a, b);
    }
  }
  u.stride = u_stride;
  v.stride = v_stride;
  costs_[old] = own_[old] = sum;
}

// Takes the edge of `side` from the list of the node at its other end.
void Reduction::Unlink(int side) {
  const Side& other = sides_[side ^ 1];
  if (other.previous >= 0) {
    sides_[other.previous].next = other.next;
  } else {
    head_[other.node] = other.next;
  }
  if (other.next >= 0) sides_[other.next].previous = other.previous;
  const int degree = --degree_[other.node];
  if (degree <= 2) ready_[degree].push_back(other.node);
}

void Reduction::Remove(int node, int fixed, int first, int second) {
  degree_[node] = -1;
  removed_.push_back({node, fixed, {first, second}});
}

void Reduction::Fold(int node, int choice) {
  for (int side = head_[node]; side >= 0; side = sides_[side].next) {
    const int other = neighbour(side);
    double* costs = &node_costs_[problem_.first[other]];
    for (int b = 0; b < problem_.choices(other); ++b) {
      costs[b] += Cost(side, choice, b);
    }
    Unlink(side);
  }
  constant_ += node_costs_[problem_.first[node] + choice];
  Remove(node, choice);
}

void Reduction::ReduceOne(int node) {
  const int side = head_[node];
  const int other = neighbour(side);
  const double* own = &node_costs_[problem_.first[node]];
  double* costs = &node_costs_[problem_.first[other]];
  for (int b = 0; b < problem_.choices(other); ++b) {
    double least = kForbidden;
    for (int a = 0; a < problem_.choices(node); ++a) {
      least = std::min(least, own[a] + Cost(side, a, b));
    }
    costs[b] += least;
  }
  Unlink(side);
  Remove(node, -1, side);
}

void Reduction::ReduceTwo(int node) {
  const int left_side = head_[node];
  const int right_side = sides_[left_side].next;
  const int left = neighbour(left_side);
  const int right = neighbour(right_side);
  const int own = problem_.choices(node);
  const int rows = problem_.choices(left);
  const int columns = problem_.choices(right);
  const double* costs = &node_costs_[problem_.first[node]];
  scratch_.resize(size_t{1} * own * (rows + columns));
  double* with_left = scratch_.data();
  double* with_right = with_left + ptrdiff_t{1} * own * rows;
  for (int a = 0; a < rows; ++a) {
    for (int x = 0; x < own; ++x) {
      with_left[a * own + x] = costs[x] + Cost(left_side, x, a);
    }
  }
  for (int b = 0; b < columns; ++b) {
    for (int x = 0; x < own; ++x) {
      with_right[b * own + x] = Cost(right_side, x, b);
    }
  }
  double* table = Allocate(size_t{1} * rows * columns);
  for (int a = 0; a < rows; ++a) {
    for (int b = 0; b < columns; ++b) {
      double least = kForbidden;
      for (int x = 0; x < own; ++x) {
        least =
            std::min(least, with_left[a * own + x] + with_right[b * own + x]);
      }
      table[a * columns + b] = least;
    }
  }
  // Linked before the others are unlinked, so that no degree is too low on the
  // way.
  const auto edges = costs_.size();
  AddEdge({left, right, table, columns, 1});
  if (costs_.size() > edges) own_.back() = table;
  Unlink(left_side);
  Unlink(right_side);
  Remove(node, -1, left_side, right_side);
}

void Reduction::Run() {
  while (true) {
    size_t degree = 0;
    while (degree < ready_.size() && ready_[degree].empty()) {
      ++degree;
    }
    if (degree == ready_.size()) return;
    const int node = ready_[degree].back();
    ready_[degree].pop_back();
    if (degree_[node] != static_cast<int>(degree)) continue;
    if (degree == 2) {
      ReduceTwo(node);
    } else if (degree == 1) {
      ReduceOne(node);
    } else {
      const double* begin = &node_costs_[problem_.first[node]];
      constant_ += *std::min_element(begin, begin + problem_.choices(node));
      Remove(node, -1);
    }
  }
}

void Reduction::Fix(int node, int choice) {
  Fold(node, choice);
  Run();
}

int Reduction::CheapestChoice(int node, double* margin) const {
  int cheapest = 0;
  double least = kForbidden;
  double second = kForbidden;
  for (int a = 0; a < problem_.choices(node); ++a) {
    double cost = node_costs_[problem_.first[node] + a];
    for (int side = head_[node]; side >= 0; side = sides_[side].next) {
      const int other = neighbour(side);
      double pair = kForbidden;
      for (int b = 0; b < problem_.choices(other); ++b) {
        pair = std::min(
            pair, Cost(side, a, b) + node_costs_[problem_.first[other] + b]);
      }
      cost += pair;
    }
    if (cost < least) {
      second = least;
      least = cost;
      cheapest = a;
    } else {
      second = std::min(second, cost);
    }
  }
  if (margin != nullptr) {
    *margin = second < kForbidden ? second - least : kForbidden;
  }
  return cheapest;
}

std::vector<std::vector<int>> Reduction::Components() const {
  std::vector<std::vector<int>> components;
  std::vector<char> seen(problem_.nodes());
  for (int start = 0; start < problem_.nodes(); ++start) {
    if (!remains(start) || seen[start] != 0) continue;
    std::vector<int>& nodes = components.emplace_back(1, start);
    seen[start] = 1;
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (int side = head_[nodes[i]]; side >= 0; side = sides_[side].next) {
        const int other = neighbour(side);
        if (seen[other] == 0) nodes.push_back(other);
        seen[other] = 1;
      }
    }
    std::sort(nodes.begin(), nodes.end());
  }
  return components;
}

Pairwise Reduction::Part(const std::vector<int>& component) const {
  Pairwise part;
  std::vector<std::pair<int, int>> edges;  // a side, and its node in the part
  for (size_t i = 0; i < component.size(); ++i) {
    const int node = component[i];
    part.AddNode({&node_costs_[problem_.first[node]],
                  static_cast<size_t>(problem_.choices(node))});
    for (int side = head_[node]; side >= 0; side = sides_[side].next) {
      if (neighbour(side) < node) continue;
      edges.emplace_back(side, static_cast<int>(i));
    }
  }
  part.edges.reserve(edges.size());
  for (const auto& [side, u] : edges) {
    const auto v =
        std::lower_bound(component.begin(), component.end(), neighbour(side));
    part.edges.push_back({u, static_cast<int>(v - component.begin()),
                          costs_[side >> 1], sides_[side].stride,
                          sides_[side ^ 1].stride});
  }
  return part;
}

void Reduction::Complete(std::vector<int>* choice) const {
  for (auto it = removed_.rbegin(); it != removed_.rend(); ++it) {
    int& chosen = (*choice)[it->node];
    if (it->fixed >= 0) {
      chosen = it->fixed;
      continue;
    }
    double least = kForbidden;
    chosen = 0;
    for (int a = 0; a < problem_.choices(it->node); ++a) {
      double cost = node_costs_[problem_.first[it->node] + a];
      for (const int side : it->sides) {
        if (side >= 0) cost += Cost(side, a, (*choice)[neighbour(side)]);
      }
      if (cost < least) {
        least = cost;
        chosen = a;
      }
    }
  }
}

}  // namespace sluice::framework::assignment
