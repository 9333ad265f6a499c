#include "sluice/framework/plan/assignment/solver.h"

#include <algorithm>
#include <utility>

#include "sluice/framework/plan/assignment/elimination.h"
#include "sluice/framework/plan/assignment/local_search.h"
#include "sluice/framework/plan/assignment/message_passing.h"
#include "sluice/framework/plan/assignment/pruning.h"
#include "sluice/framework/plan/assignment/reduction.h"

namespace sluice::framework::assignment {
namespace {

// How often what pruning leaves is reduced and pruned again.
constexpr int kMostRounds = 24;
// Sweeps between two looks at what they gained.
constexpr int kSweepsOfStage = 5;
// A stage that closes a smaller share of the gap is the last one.
constexpr double kLeastGain = 0.01;
// The rest is reduced again once one in so many choices is removed.
constexpr int64_t kWorthReducing = 20;
// Of a cost: smaller differences are rounding.
constexpr double kRounding = 1e-12;

// What a part of the problem inherits.
struct Context {
  const Effort* effort;
  int round = 0;
  int64_t sweeps = 0;     // that are left
  double slack = 0;       // costs that differ by less are equal
  std::vector<int> hint;  // an assignment, or empty
};

Solution SolvePart(const Pairwise& problem, Context context);

Solution SolveRestricted(const Restricted& part, Context context) {
  ++context.round;
  if (!context.hint.empty()) context.hint = part.Narrow(context.hint);
  Solution solution = SolvePart(part.problem, std::move(context));
  if (solution.outcome == Outcome::kSolved) {
    solution.choice = part.Widen(solution.choice);
  }
  return solution;
}

// Fixes one node after the other, the clearest decisions first, and reduces the
// rest each time (RN).
std::vector<int> ChooseOneByOne(const Pairwise& problem) {
  Reduction reduction(problem);
  reduction.Run();
  std::vector<double> margins(problem.nodes());
  std::vector<int> order;
  for (int node = 0; node < problem.nodes(); ++node) {
    if (!reduction.remains(node)) continue;
    reduction.CheapestChoice(node, &margins[node]);
    order.push_back(node);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return margins[a] > margins[b]; });
  for (const int node : order) {
    if (!reduction.remains(node)) continue;
    reduction.Fix(node, reduction.CheapestChoice(node));
  }
  std::vector<int> choice(problem.nodes());
  reduction.Complete(&choice);
  return choice;
}

// Bounds and approximates a problem that cannot be eliminated.
class Approximation {
 public:
  Approximation(const Pairwise& problem,
                const Incidence& incidence,
                Context context)
      : problem_(problem),
        incidence_(incidence),
        context_(std::move(context)),
        messages_(problem, incidence) {
    if (!context_.hint.empty()) Offer(std::exchange(context_.hint, {}));
  }

  Solution Solve();

 private:
  // Keeps the assignment if it is better than the best.
  void Offer(const std::vector<int>& choice);
  // Some sweeps, and what they suggest.
  void RunStage();
  bool IsExact() const {
    return best_cost_ - messages_.bound() <= context_.slack;
  }
  bool IsWorthReducing() const {
    return context_.round < kMostRounds &&
           kWorthReducing * messages_.removed() > std::ssize(problem_.costs);
  }
  Solution Best() const;

  const Pairwise& problem_;
  const Incidence& incidence_;
  Context context_;
  MessagePassing messages_;
  std::vector<int> best_;
  double best_cost_ = kForbidden;
};

void Approximation::Offer(const std::vector<int>& choice) {
  const double cost = problem_.CostOf(choice);
  if (!(cost < best_cost_)) return;
  best_ = choice;
  best_cost_ = cost;
  context_.slack = std::max(context_.slack, kRounding * cost);
}

void Approximation::RunStage() {
  for (int i = 0; i < kSweepsOfStage && context_.sweeps > 0; ++i) {
    messages_.Sweep(best_cost_ + context_.slack);
    --context_.sweeps;
  }
  std::vector<int> choice = messages_.greedy();
  Improve(problem_, incidence_, &choice);
  Offer(choice);
}

Solution Approximation::Best() const {
  Solution solution;
  if (best_.empty()) {
    solution.outcome = Outcome::kNotFound;
    return solution;
  }
  solution.choice = best_;
  solution.exact = IsExact();
  solution.lower_bound =
      solution.exact ? best_cost_ : std::min(messages_.bound(), best_cost_);
  return solution;
}

Solution Approximation::Solve() {
  double gain = kForbidden;
  while (context_.sweeps > 0 && !IsExact() && !IsWorthReducing() &&
         gain > kLeastGain) {
    const double before = messages_.bound();
    RunStage();
    const double gap = best_cost_ - before;
    gain = gap < kForbidden ? (messages_.bound() - before) / gap : kForbidden;
  }
  if (IsExact()) return Best();
  const Restricted remaining = messages_.Remaining(best_);
  if (IsWorthReducing()) {
    context_.hint = best_;
    Solution solution = SolveRestricted(remaining, std::move(context_));
    solution.lower_bound += messages_.bound();
    return solution;
  }
  std::vector<int> choice = remaining.Widen(ChooseOneByOne(remaining.problem));
  Improve(problem_, incidence_, &choice);
  Offer(choice);
  return Best();
}

// A component that neither reduction nor pruning makes smaller.
Solution SolvePruned(const Pairwise& problem,
                     const Incidence& incidence,
                     Context context) {
  const Effort& effort = *context.effort;
  const EliminationLimits limits = {
      effort.table_entries, effort.table_entries_per_node * problem.nodes()};
  Solution solution;
  if (!Eliminate(problem, incidence, limits, &solution.choice,
                 &solution.lower_bound)) {
    return Approximation(problem, incidence, std::move(context)).Solve();
  }
  if (solution.lower_bound == kForbidden) {
    solution.outcome = Outcome::kInfeasible;
  }
  return solution;
}

// A connected component that no reduction makes smaller.
Solution SolveComponent(const Pairwise& problem, Context context) {
  const Incidence incidence(problem);
  const std::vector<char> kept = Prune(problem, incidence, &context.hint);
  const auto removed = std::count(kept.begin(), kept.end(), 0);
  if (removed == 0) return SolvePruned(problem, incidence, std::move(context));
  for (int node = 0; node < problem.nodes(); ++node) {
    const auto begin = kept.begin() + problem.first[node];
    const auto end = kept.begin() + problem.first[node + 1];
    if (std::find(begin, end, 1) != end) continue;
    Solution none;
    none.outcome = Outcome::kInfeasible;
    return none;
  }
  const Restricted part = Restrict(problem, kept);
  if (context.round < kMostRounds &&
      kWorthReducing * removed > std::ssize(kept)) {
    return SolveRestricted(part, std::move(context));
  }
  if (!context.hint.empty()) context.hint = part.Narrow(context.hint);
  Solution solution =
      SolvePruned(part.problem, Incidence(part.problem), std::move(context));
  if (solution.outcome == Outcome::kSolved) {
    solution.choice = part.Widen(solution.choice);
  }
  return solution;
}

Solution SolvePart(const Pairwise& problem, Context context) {
  Reduction reduction(problem);
  reduction.Run();
  Solution whole;
  whole.lower_bound = reduction.constant();
  if (whole.lower_bound == kForbidden) {
    whole.outcome = Outcome::kInfeasible;
    return whole;
  }
  whole.choice.resize(problem.nodes());
  for (const std::vector<int>& component : reduction.Components()) {
    Context part = {
        context.effort, context.round, context.sweeps, context.slack, {}};
    if (!context.hint.empty()) {
      for (const int node : component) {
        part.hint.push_back(context.hint[node]);
      }
    }
    Solution solution =
        SolveComponent(reduction.Part(component), std::move(part));
    if (solution.outcome == Outcome::kInfeasible) return solution;
    if (solution.outcome == Outcome::kNotFound) {
      whole.outcome = Outcome::kNotFound;
      continue;  // another component may be infeasible
    }
    whole.lower_bound += solution.lower_bound;
    whole.exact = whole.exact && solution.exact;
    for (size_t i = 0; i < component.size(); ++i) {
      whole.choice[component[i]] = solution.choice[i];
    }
  }
  reduction.Complete(&whole.choice);
  return whole;
}

}  // namespace

Solution SolvePairwise(const Pairwise& problem, const Effort& effort) {
  return SolvePart(problem, {&effort, 0, effort.sweeps, 0, {}});
}

}  // namespace sluice::framework::assignment
