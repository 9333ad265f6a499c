#include "sluice/framework/plan/assignment/elimination.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <unordered_set>

namespace sluice::framework::assignment {
namespace {

// A node and the nodes that are its neighbours when it is eliminated.
struct Step {
  int node;
  std::vector<int> neighbours;  // in the order of their elimination
};

// Chooses the order without computing tables.
class Order {
 public:
  Order(const Pairwise& problem,
        const Incidence& incidence,
        const EliminationLimits& limits);
  // Empty where a limit is passed.
  std::vector<Step> Find();

 private:
  using Entry = std::pair<double, int>;  // size of the table, node

  void Connect(int u, int v);
  int64_t TableEntries(int node, const std::vector<int>& neighbours) const;

  const Pairwise& problem_;
  const EliminationLimits limits_;
  std::vector<std::vector<int>> neighbours_;  // some of them eliminated
  std::unordered_set<uint64_t> connected_;
  std::vector<double> log_size_;
  std::vector<int> position_;  // in the order, or -1
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

Order::Order(const Pairwise& problem,
             const Incidence& incidence,
             const EliminationLimits& limits)
    : problem_(problem),
      limits_(limits),
      neighbours_(problem.nodes()),
      log_size_(problem.nodes()),
      position_(problem.nodes(), -1) {
  connected_.reserve(2 * problem.edges.size());
  for (int node = 0; node < problem.nodes(); ++node) {
    log_size_[node] += std::log(problem.choices(node));
    for (const Incident& edge : incidence.of(node)) {
      if (edge.side == 0) Connect(node, edge.neighbour);
    }
  }
}

void Order::Connect(int u, int v) {
  const auto key = (static_cast<uint64_t>(std::min(u, v)) << 32) |
                   static_cast<uint64_t>(std::max(u, v));
  if (!connected_.insert(key).second) return;
  neighbours_[u].push_back(v);
  neighbours_[v].push_back(u);
  log_size_[u] += std::log(problem_.choices(v));
  log_size_[v] += std::log(problem_.choices(u));
}

// One more than the limit where it is passed.
int64_t Order::TableEntries(int node,
                            const std::vector<int>& neighbours) const {
  int64_t entries = problem_.choices(node);
  for (const int other : neighbours) {
    if (entries > limits_.entries_of_table) break;
    entries *= problem_.choices(other);
  }
  return std::min(entries, limits_.entries_of_table + 1);
}

std::vector<Step> Order::Find() {
  for (int node = 0; node < problem_.nodes(); ++node) {
    queue_.emplace(log_size_[node], node);
  }
  std::vector<Step> steps;
  int64_t all = 0;
  while (!queue_.empty()) {
    const auto [size, node] = queue_.top();
    queue_.pop();
    if (position_[node] >= 0 || size != log_size_[node]) continue;
    std::vector<int> near;
    for (const int other : neighbours_[node]) {
      if (position_[other] < 0) near.push_back(other);
    }
    const int64_t entries = TableEntries(node, near);
    // The neighbours are connected pair by pair.
    all += entries + std::ssize(near) * std::ssize(near);
    if (entries > limits_.entries_of_table || all > limits_.entries_of_all) {
      return {};
    }
    position_[node] = static_cast<int>(steps.size());
    for (size_t i = 0; i < near.size(); ++i) {
      for (size_t j = i + 1; j < near.size(); ++j) {
        Connect(near[i], near[j]);
      }
      log_size_[near[i]] -= std::log(problem_.choices(node));
    }
    for (const int other : near) {
      queue_.emplace(log_size_[other], other);
    }
    steps.push_back({node, std::move(near)});
  }
  for (Step& step : steps) {
    std::sort(step.neighbours.begin(), step.neighbours.end(),
              [&](int a, int b) { return position_[a] < position_[b]; });
  }
  return steps;
}

// Costs of the choices of some nodes, in the order of their elimination.
struct Factor {
  std::vector<int> nodes;
  std::vector<ptrdiff_t> strides;
  const double* costs = nullptr;
  std::vector<double> own;  // what `costs` points to, unless it is an edge's
};

// A factor while its first node is eliminated: where it is for the current
// choices of the neighbours, and its stride for the node and for each of them.
struct Cursor {
  const double* at;
  ptrdiff_t own_stride;
  std::vector<ptrdiff_t> strides;
};

class Tables {
 public:
  Tables(const Pairwise& problem, const std::vector<Step>& steps);
  // Returns the least cost.
  double Compute();
  void Choose(std::vector<int>* choice) const;

 private:
  void Add(Factor factor) {
    const int first = factor.nodes.front();
    factors_[first].push_back(std::move(factor));
  }
  std::vector<Cursor> Cursors(const Step& step) const;
  void Eliminate(const Step& step);

  const Pairwise& problem_;
  const std::vector<Step>& steps_;
  std::vector<std::vector<Factor>> factors_;  // by their first node
  std::vector<std::vector<int>> best_;        // choices, of each table
  double constant_ = 0;
};

Tables::Tables(const Pairwise& problem, const std::vector<Step>& steps)
    : problem_(problem),
      steps_(steps),
      factors_(problem.nodes()),
      best_(problem.nodes()) {
  std::vector<int> position(problem.nodes());
  for (size_t i = 0; i < steps.size(); ++i) {
    position[steps[i].node] = static_cast<int>(i);
  }
  for (const PairwiseEdge& edge : problem.edges) {
    Factor factor;
    factor.nodes = {edge.u, edge.v};
    factor.strides = {edge.u_stride, edge.v_stride};
    if (position[edge.u] > position[edge.v]) {
      std::swap(factor.nodes[0], factor.nodes[1]);
      std::swap(factor.strides[0], factor.strides[1]);
    }
    factor.costs = edge.costs;
    Add(std::move(factor));
  }
}

std::vector<Cursor> Tables::Cursors(const Step& step) const {
  std::vector<Cursor> cursors;
  for (const Factor& factor : factors_[step.node]) {
    Cursor& cursor = cursors.emplace_back();
    cursor.at = factor.costs;
    cursor.own_stride = factor.strides[0];
    cursor.strides.assign(step.neighbours.size(), 0);
    size_t place = 0;
    for (size_t i = 1; i < factor.nodes.size(); ++i) {
      while (step.neighbours[place] != factor.nodes[i]) {
        ++place;
      }
      cursor.strides[place] = factor.strides[i];
    }
  }
  return cursors;
}

void Tables::Eliminate(const Step& step) {
  const std::vector<int>& near = step.neighbours;
  const int own = problem_.choices(step.node);
  Factor message;
  message.nodes = near;
  message.strides.resize(near.size());
  size_t entries = 1;
  for (size_t i = near.size(); i-- > 0;) {
    message.strides[i] = static_cast<ptrdiff_t>(entries);
    entries *= problem_.choices(near[i]);
  }
  message.own.resize(entries);
  std::vector<int>& best = best_[step.node];
  best.resize(entries);
  std::vector<Cursor> cursors = Cursors(step);
  std::vector<int> digits(near.size());
  std::vector<double> sums(own);
  const double* costs = problem_.costs_of(step.node);
  for (size_t entry = 0;; ++entry) {
    std::copy(costs, costs + own, sums.begin());
    for (const Cursor& cursor : cursors) {
      for (int x = 0; x < own; ++x) {
        sums[x] += cursor.at[x * cursor.own_stride];
      }
    }
    const auto least = std::min_element(sums.begin(), sums.end());
    message.own[entry] = *least;
    best[entry] = static_cast<int>(least - sums.begin());
    if (entry + 1 == entries) break;
    // To the next choices of the neighbours: the last one's change fastest.
    size_t digit = near.size() - 1;
    while (++digits[digit] == problem_.choices(near[digit])) {
      for (Cursor& cursor : cursors) {
        cursor.at -= (digits[digit] - 1) * cursor.strides[digit];
      }
      digits[digit--] = 0;
    }
    for (Cursor& cursor : cursors) {
      cursor.at += cursor.strides[digit];
    }
  }
  factors_[step.node].clear();
  factors_[step.node].shrink_to_fit();
  if (near.empty()) {
    constant_ += message.own[0];
    return;
  }
  message.costs = message.own.data();
  Add(std::move(message));
}

double Tables::Compute() {
  for (const Step& step : steps_) {
    Eliminate(step);
  }
  return constant_;
}

void Tables::Choose(std::vector<int>* choice) const {
  choice->assign(problem_.nodes(), 0);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    size_t entry = 0;
    for (const int other : step->neighbours) {
      entry = entry * problem_.choices(other) + (*choice)[other];
    }
    (*choice)[step->node] = best_[step->node][entry];
  }
}

}  // namespace

bool Eliminate(const Pairwise& problem,
               const Incidence& incidence,
               const EliminationLimits& limits,
               std::vector<int>* choice,
               double* cost) {
  const std::vector<Step> steps = Order(problem, incidence, limits).Find();
  if (steps.empty()) return false;
  Tables tables(problem, steps);
  *cost = tables.Compute();
  tables.Choose(choice);
  return true;
}

}  // namespace sluice::framework::assignment
