#include "benchmarks/lab/assignment_rows.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/lab/assignment_graphs.h"

namespace sluice::bench {
namespace {

using framework::Assignment;
using framework::AssignmentOptions;
using framework::AssignmentProblem;

constexpr int kFewOps = 200;

// Of the fastest kernel for each op, with the conversions between them.
double CostPerOp(const AssignmentProblem& problem) {
  double cost = 0;
  std::vector<size_t> choices;
  for (const std::vector<double>& costs : problem.nodes) {
    const auto least = std::min_element(costs.begin(), costs.end());
    choices.push_back(static_cast<size_t>(least - costs.begin()));
    cost += *least;
  }
  for (const AssignmentProblem::Edge& edge : problem.edges) {
    const size_t columns = problem.nodes[edge.v].size();
    cost +=
        problem
            .matrices[edge.matrix][choices[edge.u] * columns + choices[edge.v]];
  }
  return cost;
}

// The least of as many calls as fit, at least 5: noise only adds.
double LeastSeconds(double seconds, const AssignmentProblem& problem) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  double least = std::numeric_limits<double>::infinity();
  double sum = 0;
  for (int call = 0; call < 5 || sum < seconds; ++call) {
    const auto begin = Clock::now();
    Solve(problem);
    const double time = Seconds(Clock::now() - begin).count();
    least = std::min(least, time);
    sum += time;
  }
  return least;
}

// How much more than the optimum is paid with the default limits, and without
// vertex elimination, in percent. Unknown where large tables do not suffice
// for the optimum.
std::optional<double> Approximation(const AssignmentProblem& problem) {
  AssignmentOptions large;
  large.table_entries = int64_t{1} << 22;
  large.table_entries_per_node = int64_t{1} << 14;
  AssignmentOptions without_elimination;
  without_elimination.table_entries = 0;
  const Assignment optimum = Solve(problem, large);
  if (!optimum.exact) return std::nullopt;
  const double cost =
      std::max(Solve(problem).cost, Solve(problem, without_elimination).cost);
  return 100 * (cost / optimum.cost - 1);
}

// The figures of one family, the worst of its problems.
struct Figures {
  double milliseconds = 0;
  double gap = 0;            // as the rest, in percent
  double approximation = 0;  // where the optimum is known
  double per_op = 0;         // mean
};

// The problems that are measured.
struct Problems {
  int ops = 2000;
  unsigned seeds = 5;
};
constexpr Problems kSmokeProblems = {.ops = 300, .seeds = 1};

Figures Measure(const GraphFamily& family,
                const Problems& problems,
                double seconds) {
  Figures worst;
  for (unsigned seed = 1; seed <= problems.seeds; ++seed) {
    const AssignmentProblem problem =
        MakeAssignmentProblem(family.make(problems.ops, seed), seed);
    const Assignment result = Solve(problem);
    worst.milliseconds =
        std::max(worst.milliseconds,
                 1e3 * LeastSeconds(seconds / problems.seeds, problem));
    worst.gap = std::max(worst.gap, 100 * result.gap());
    worst.per_op +=
        100 * (CostPerOp(problem) / result.cost - 1) / problems.seeds;
    const AssignmentProblem small =
        MakeAssignmentProblem(family.make(kFewOps, seed), seed);
    for (const AssignmentProblem* some : {&problem, &small}) {
      worst.approximation =
          std::max(worst.approximation, Approximation(*some).value_or(0));
    }
  }
  return worst;
}

}  // namespace

void AddAssignmentRows(const Options& options, Report& report) {
  const Problems problems = options.smoke ? kSmokeProblems : Problems{};
  Figures worst;
  for (const GraphFamily& family : GraphFamilies()) {
    const Figures figures = Measure(family, problems, options.seconds);
    const auto add = [&](const std::string& what, const std::string& unit,
                         double value) {
      report.Add({.id = "lab/assign_" + what + "/" + family.name,
                  .unit = unit,
                  .value = value});
    };
    add("ms", "ms", figures.milliseconds);
    add("gap", "%", figures.gap);
    add("approximation", "%", figures.approximation);
    add("per_op", "%", figures.per_op);
    worst.milliseconds = std::max(worst.milliseconds, figures.milliseconds);
    worst.gap = std::max(worst.gap, figures.gap);
    worst.approximation = std::max(worst.approximation, figures.approximation);
  }
  report.Add({.id = "lab/assign_" + std::to_string(problems.ops) + "_ms",
              .unit = "ms",
              .value = worst.milliseconds,
              .at_most = 20});
  report.Add({.id = "lab/assign_gap",
              .unit = "%",
              .value = worst.gap,
              .at_most = 1,
              .exact = true});
  report.Add({.id = "lab/assign_approximation",
              .unit = "%",
              .value = worst.approximation,
              .at_most = 1,
              .exact = true});
}

}  // namespace sluice::bench
