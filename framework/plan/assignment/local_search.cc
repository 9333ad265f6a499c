#include "sluice/framework/plan/assignment/local_search.h"

#include <algorithm>
#include <cstdint>

namespace sluice::framework::assignment {
namespace {

// Entries that may be read for each entry of the problem.
constexpr int64_t kMostReads = 64;
// A share of all costs: sums that are kept up to date differ by so little.
constexpr double kSumRounding = 1e-14;

class Search {
 public:
  Search(const Pairwise& problem,
         const Incidence& incidence,
         std::vector<int>* choice);
  void Run();

 private:
  // Sums with forbidden pairs stay finite, and above those with fewer.
  double Finite(double cost) const { return std::min(cost, penalty_); }
  double* SumsOf(int node) { return &sums_[problem_.first[node]]; }
  void Change(int node, int choice);
  void ImproveNodes();
  bool ImprovePair(const PairwiseEdge& edge);

  const Pairwise& problem_;
  const Incidence& incidence_;
  std::vector<int>& choice_;
  // What each choice costs with the choices of the neighbours.
  std::vector<double> sums_;
  std::vector<int> queue_;
  std::vector<char> waits_;
  double penalty_ = kForbidden;
  double rounding_ = 0;
  int64_t reads_left_ = 0;
};

Search::Search(const Pairwise& problem,
               const Incidence& incidence,
               std::vector<int>* choice)
    : problem_(problem),
      incidence_(incidence),
      choice_(*choice),
      waits_(problem.nodes()) {
  double total = 0;
  const auto add_most = [&](double* most, double cost) {
    if (cost < kForbidden) *most = std::max(*most, cost);
    ++reads_left_;
  };
  for (int node = 0; node < problem.nodes(); ++node) {
    double most = 0;
    for (int x = 0; x < problem.choices(node); ++x) {
      add_most(&most, problem.costs_of(node)[x]);
    }
    total += most;
  }
  for (const PairwiseEdge& edge : problem.edges) {
    double most = 0;
    for (int a = 0; a < problem.choices(edge.u); ++a) {
      for (int b = 0; b < problem.choices(edge.v); ++b) {
        add_most(&most, edge.at(a, b));
      }
    }
    total += most;
  }
  reads_left_ *= kMostReads;
  penalty_ = 2 * total + 1e-9;
  rounding_ = kSumRounding * total;
  sums_.reserve(problem.costs.size());
  for (const double cost : problem.costs) {
    sums_.push_back(Finite(cost));
  }
  for (int node = 0; node < problem.nodes(); ++node) {
    for (const Incident& edge : incidence.of(node)) {
      for (int x = 0; x < problem.choices(node); ++x) {
        SumsOf(node)[x] += Finite(edge.at(x, choice_[edge.neighbour]));
      }
    }
  }
}

void Search::Change(int node, int choice) {
  const int old = choice_[node];
  choice_[node] = choice;
  for (const Incident& edge : incidence_.of(node)) {
    double* sums = SumsOf(edge.neighbour);
    const int count = problem_.choices(edge.neighbour);
    for (int y = 0; y < count; ++y) {
      sums[y] += Finite(edge.at(choice, y)) - Finite(edge.at(old, y));
    }
    reads_left_ -= count;
    if (waits_[edge.neighbour] != 0) continue;
    waits_[edge.neighbour] = 1;
    queue_.push_back(edge.neighbour);
  }
}

void Search::ImproveNodes() {
  for (size_t next = 0; next < queue_.size(); ++next) {
    const int node = queue_[next];
    waits_[node] = 0;
    if (reads_left_ <= 0) continue;
    const double* sums = SumsOf(node);
    const double* least = std::min_element(sums, sums + problem_.choices(node));
    reads_left_ -= problem_.choices(node);
    if (*least < sums[choice_[node]] - rounding_) {
      Change(node, static_cast<int>(least - sums));
    }
  }
  queue_.clear();
}

bool Search::ImprovePair(const PairwiseEdge& edge) {
  const int u = choice_[edge.u];
  const int v = choice_[edge.v];
  // Both sums contain the edge.
  const auto cost = [&](int a, int b) {
    return SumsOf(edge.u)[a] - Finite(edge.at(a, v)) + SumsOf(edge.v)[b] -
           Finite(edge.at(u, b)) + Finite(edge.at(a, b));
  };
  double least = cost(u, v) - rounding_;
  int best_u = u;
  int best_v = v;
  for (int a = 0; a < problem_.choices(edge.u); ++a) {
    for (int b = 0; b < problem_.choices(edge.v); ++b) {
      const double sum = cost(a, b);
      if (!(sum < least)) continue;
      least = sum;
      best_u = a;
      best_v = b;
    }
  }
  reads_left_ -=
      int64_t{1} * problem_.choices(edge.u) * problem_.choices(edge.v);
  if (best_u == u && best_v == v) return false;
  if (best_u != u) Change(edge.u, best_u);
  if (best_v != v) Change(edge.v, best_v);
  return true;
}

void Search::Run() {
  for (int node = 0; node < problem_.nodes(); ++node) {
    queue_.push_back(node);
    waits_[node] = 1;
  }
  bool better = true;
  while (better && reads_left_ > 0) {
    ImproveNodes();
    better = false;
    for (const PairwiseEdge& edge : problem_.edges) {
      if (reads_left_ <= 0) break;
      better = ImprovePair(edge) || better;
    }
  }
}

}  // namespace

void Improve(const Pairwise& problem,
             const Incidence& incidence,
             std::vector<int>* choice) {
  Search(problem, incidence, choice).Run();
}

}  // namespace sluice::framework::assignment
