#include "sluice/framework/algorithms/two_labels.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice {

namespace {

constexpr int64_t kUnlimited = int64_t{1} << 60;

// A directed graph whose arcs carry a flow of at most their capacity.
class Network {
 public:
  explicit Network(size_t nodes)
      : arcs_of_(nodes), level_(nodes), next_(nodes) {}

  void AddArc(size_t from, size_t to, int64_t capacity) {
    if (capacity == 0) return;
    arcs_of_[from].push_back(arcs_.size());
    arcs_.push_back({to, capacity});
    arcs_of_[to].push_back(arcs_.size());
    arcs_.push_back({from, 0});
  }

  // Lets as much flow as possible go from `source` to `sink`.
  void Fill(size_t source, size_t sink) {
    while (FindLevels(source)[sink] >= 0) {
      std::fill(next_.begin(), next_.end(), 0);
      while (Augment(source, sink)) {
      }
    }
  }

  // The distance of each node from `source` over arcs that are not full; -1
  // where there is no such path.
  const std::vector<int>& FindLevels(size_t source) {
    std::fill(level_.begin(), level_.end(), -1);
    std::vector<size_t> queue = {source};
    level_[source] = 0;
    for (size_t i = 0; i < queue.size(); ++i) {
      for (const size_t arc : arcs_of_[queue[i]]) {
        const size_t to = arcs_[arc].to;
        if (arcs_[arc].room == 0 || level_[to] >= 0) continue;
        level_[to] = level_[queue[i]] + 1;
        queue.push_back(to);
      }
    }
    return level_;
  }

 private:
  struct Arc {  // arc i ^ 1 is its reverse
    size_t to;
    int64_t room;
  };

  // Fills one shortest path; false where there is none.
  bool Augment(size_t source, size_t sink) {
    path_.clear();
    size_t at = source;
    while (at != sink) {
      if (Advance(at)) {
        at = arcs_[path_.back()].to;
        continue;
      }
      if (at == source) return false;
      at = arcs_[path_.back() ^ 1].to;
      path_.pop_back();
      ++next_[at];
    }
    int64_t flow = kUnlimited;
    for (const size_t arc : path_) {
      flow = std::min(flow, arcs_[arc].room);
    }
    for (const size_t arc : path_) {
      arcs_[arc].room -= flow;
      arcs_[arc ^ 1].room += flow;
    }
    return true;
  }

  // Appends the next arc of a shortest path to it; false at a dead end.
  bool Advance(size_t at) {
    for (; next_[at] < arcs_of_[at].size(); ++next_[at]) {
      const size_t arc = arcs_of_[at][next_[at]];
      if (arcs_[arc].room == 0 || level_[arcs_[arc].to] != level_[at] + 1) {
        continue;
      }
      path_.push_back(arc);
      return true;
    }
    return false;
  }

  std::vector<Arc> arcs_;
  std::vector<std::vector<size_t>> arcs_of_;
  std::vector<int> level_;
  std::vector<size_t> next_;  // arcs of each node that are dead ends
  std::vector<size_t> path_;
};

}  // namespace

int TwoLabels::AddNode(double cost_0, double cost_1) {
  nodes_.push_back({cost_0, cost_1});
  return static_cast<int>(nodes_.size()) - 1;
}

void TwoLabels::AddGroup(std::vector<int> nodes, double cost) {
  groups_.push_back({std::move(nodes), cost});
}

// Nodes on the source's side of the cut have the label 1. Each group is an arc
// between two nodes of its own: the first has the label 1 where any node of the
// group has it, the second the label 0 where any node has that.
std::vector<uint8_t> TwoLabels::Solve() const {
  double sum = 0;
  const auto add = [&sum](double cost) {
    if (std::isfinite(cost)) sum += cost;
  };
  for (const Node& node : nodes_) {
    add(node.cost_0);
    add(node.cost_1);
  }
  for (const Group& group : groups_) {
    add(group.cost);
  }
  // A power of 2, with which equal sums of costs stay equal.
  const double unit = sum > 0 ? std::ldexp(1, 57 - std::ilogb(sum)) : 1;
  const auto capacity = [unit](double cost) {
    return std::isfinite(cost) ? static_cast<int64_t>(cost * unit) : kUnlimited;
  };

  const size_t source = nodes_.size() + 2 * groups_.size();
  const size_t sink = source + 1;
  Network network(sink + 1);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    // Only the difference of two finite costs matters.
    const Node& node = nodes_[i];
    const double both = std::min(node.cost_0, node.cost_1);
    const double common = std::isfinite(both) ? both : 0;
    network.AddArc(source, i, capacity(node.cost_0 - common));
    network.AddArc(i, sink, capacity(node.cost_1 - common));
  }
  size_t any_1 = nodes_.size();
  for (const Group& group : groups_) {
    const size_t any_0 = any_1 + 1;
    for (const int member : group.nodes) {
      const auto node = static_cast<size_t>(member);
      network.AddArc(node, any_1, kUnlimited);
      network.AddArc(any_0, node, kUnlimited);
    }
    network.AddArc(any_1, any_0, capacity(group.cost));
    any_1 += 2;
  }
  network.Fill(source, sink);
  const std::vector<int>& level = network.FindLevels(source);
  std::vector<uint8_t> labels(nodes_.size());
  for (size_t i = 0; i < labels.size(); ++i) {
    labels[i] = level[i] >= 0 ? 1 : 0;
  }
  return labels;
}

}  // namespace sluice
