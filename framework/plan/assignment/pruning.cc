#include "sluice/framework/plan/assignment/pruning.h"

#include <algorithm>

namespace sluice::framework::assignment {
namespace {

// Each pass is linear; more find little.
constexpr int kMostPasses = 8;

class Pruner {
 public:
  Pruner(const Pairwise& problem, const Incidence& incidence)
      : problem_(problem), incidence_(incidence) {
    kept_.reserve(problem.costs.size());
    for (const double cost : problem.costs) {
      kept_.push_back(cost < kForbidden ? 1 : 0);
    }
  }

  void MakeConsistent();
  void RemoveDominated(std::vector<int>* hint);
  std::vector<char> TakeKept() { return std::move(kept_); }

 private:
  char& kept(int node, int choice) {
    return kept_[problem_.first[node] + choice];
  }
  bool IsSupported(const Incident& edge, int choice);
  void GatherRows(int node);
  bool Dominates(int node, int better, int worse) const;
  void RemoveDominatedOf(int node, std::vector<int>* hint);

  const Pairwise& problem_;
  const Incidence& incidence_;
  std::vector<char> kept_;
  std::vector<char> changed_;  // nodes that a pass has to look at
  std::vector<double> rows_;   // for each choice of a node, edge by edge
  std::vector<size_t> row_ends_;
};

bool Pruner::IsSupported(const Incident& edge, int choice) {
  for (int other = 0; other < problem_.choices(edge.neighbour); ++other) {
    if (kept(edge.neighbour, other) == 0) continue;
    if (edge.at(choice, other) < kForbidden) return true;
  }
  return false;
}

void Pruner::MakeConsistent() {
  std::vector<char> waits(problem_.nodes(), 1);
  std::vector<int> queue(problem_.nodes());
  for (int node = 0; node < problem_.nodes(); ++node) {
    queue[node] = node;
  }
  // Takes what a node has lost to its neighbours.
  for (size_t next = 0; next < queue.size(); ++next) {
    const int node = queue[next];
    waits[node] = 0;
    for (const Incident& edge : incidence_.of(node)) {
      const Incident back = {edge.edge,  1 - edge.side,         node,
                             edge.costs, edge.neighbour_stride, edge.stride};
      bool lost = false;
      for (int choice = 0; choice < problem_.choices(edge.neighbour);
           ++choice) {
        char& stays = kept(edge.neighbour, choice);
        if (stays == 0 || IsSupported(back, choice)) continue;
        stays = 0;
        lost = true;
      }
      if (!lost || waits[edge.neighbour] != 0) continue;
      waits[edge.neighbour] = 1;
      queue.push_back(edge.neighbour);
    }
  }
}

// Copies what the node's edges cost with the choices that neighbours have left:
// many pairs of the node's choices are compared.
void Pruner::GatherRows(int node) {
  const int choices = problem_.choices(node);
  row_ends_.clear();
  size_t width = 0;
  for (const Incident& edge : incidence_.of(node)) {
    const char* begin = &kept(edge.neighbour, 0);
    width += std::count(begin, begin + problem_.choices(edge.neighbour), 1);
    row_ends_.push_back(width);
  }
  rows_.resize(width * choices);
  double* column = rows_.data();
  for (const Incident& edge : incidence_.of(node)) {
    for (int other = 0; other < problem_.choices(edge.neighbour); ++other) {
      if (kept(edge.neighbour, other) == 0) continue;
      for (int x = 0; x < choices; ++x) {
        column[x * width] = edge.at(x, other);
      }
      ++column;
    }
  }
}

// Whether `better` costs no more than `worse` with any choices of the
// neighbours that `worse` can be combined with.
bool Pruner::Dominates(int node, int better, int worse) const {
  const size_t width = row_ends_.empty() ? 0 : row_ends_.back();
  const double* better_row = rows_.data() + better * width;
  const double* worse_row = rows_.data() + worse * width;
  const double* costs = problem_.costs_of(node);
  double most = costs[better] - costs[worse];
  size_t begin = 0;
  for (const size_t end : row_ends_) {
    double difference = -kForbidden;
    for (size_t i = begin; i < end; ++i) {
      // Not a number where both are forbidden, and then left out.
      difference = std::max(difference, better_row[i] - worse_row[i]);
    }
    most += difference;
    begin = end;
  }
  return most <= 0;
}

void Pruner::RemoveDominatedOf(int node, std::vector<int>* hint) {
  GatherRows(node);
  // Of equal choices the last goes first.
  for (int worse = problem_.choices(node) - 1; worse >= 0; --worse) {
    if (kept(node, worse) == 0) continue;
    for (int better = 0; better < problem_.choices(node); ++better) {
      if (better == worse || kept(node, better) == 0) continue;
      if (!Dominates(node, better, worse)) continue;
      kept(node, worse) = 0;
      if (!hint->empty() && (*hint)[node] == worse) (*hint)[node] = better;
      for (const Incident& edge : incidence_.of(node)) {
        changed_[edge.neighbour] = 1;
      }
      break;
    }
  }
}

void Pruner::RemoveDominated(std::vector<int>* hint) {
  changed_.assign(problem_.nodes(), 1);
  for (int pass = 0; pass < kMostPasses; ++pass) {
    bool any = false;
    for (int node = 0; node < problem_.nodes(); ++node) {
      if (changed_[node] == 0) continue;
      changed_[node] = 0;
      any = true;
      RemoveDominatedOf(node, hint);
    }
    if (!any) return;
  }
}

}  // namespace

std::vector<char> Prune(const Pairwise& problem,
                        const Incidence& incidence,
                        std::vector<int>* hint) {
  Pruner pruner(problem, incidence);
  pruner.MakeConsistent();
  pruner.RemoveDominated(hint);
  return pruner.TakeKept();
}

}  // namespace sluice::framework::assignment
