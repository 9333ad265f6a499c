#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/lab/networks.h"
#include "benchmarks/lab/rows.h"
#include <time.h>

#include "sluice/framework/plan/persistables.h"
#include "sluice/laboratory/prediction.h"
#include "sluice/laboratory/tuning/tune_program.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::bench {
namespace {

// The time budget of a network.
struct Budget {
  double tuning_seconds = 20;
  double prediction_seconds = 60;
};
constexpr Budget kSmokeBudget = {.tuning_seconds = 0.1,
                                 .prediction_seconds = 0.1};
constexpr double kBoundPercent = 15;

double PercentOff(double ratio) {
  return 100 * std::abs(ratio - 1);
}

// CPU seconds of one call. On one thread that is the call's time without
// interruptions by other processes. `reset` is called before each and is not
// timed.
double ComputingSeconds(double seconds,
                        const std::function<void()>& reset,
                        const std::function<void()>& call) {
  const auto now = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) +
           1e-9 * static_cast<double>(time.tv_nsec);
  };
  std::vector<double> samples;
  const double end = now(CLOCK_MONOTONIC) + seconds;
  for (int run = 0; run < 9 || now(CLOCK_MONOTONIC) < end; ++run) {
    reset();
    const double begin = now(CLOCK_THREAD_CPUTIME_ID);
    call();
    const double sample = now(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (run >= 2) samples.push_back(sample);  // the first two runs are warm-up
  }
  return MedianOf(std::move(samples));
}

void AddRowsOf(Network& network,
               Scope* scope,
               const Options& options,
               Report& report) {
  const Budget budget = options.smoke ? kSmokeBudget : Budget{};
  Executor executor;
  Tune(executor, network.program, network.feeds, network.fetches, scope,
       {.budget_seconds = budget.tuning_seconds});
  const auto plan =
      executor.Prepare(network.program, network.feeds, network.fetches);
  Scope copies;
  // Prediction and measurement take turns, since the clock rate changes.
  constexpr int kTurns = 3;
  std::vector<double> predicted;
  std::vector<double> measured;
  std::vector<double> ratios;
  std::vector<double> warm_ratios;
  for (int turn = 0; turn < kTurns; ++turn) {
    const PlanPrediction prediction =
        Predict(*plan, network.feeds, scope,
                {.budget_seconds = budget.prediction_seconds / kTurns});
    predicted.push_back(prediction.total());
    const double warm =
        std::accumulate(prediction.warm.begin(), prediction.warm.end(),
                        prediction.executor + prediction.transfers);
    // Thousands of steps would lead to denormal numbers, which are slow.
    measured.push_back(ComputingSeconds(
        options.seconds, [&] { CopyPersistables(*plan, scope, &copies); },
        [&] { plan->Run(network.feeds, &copies); }));
    ratios.push_back(predicted.back() / measured.back());
    warm_ratios.push_back(warm / measured.back());
  }
  const std::string id = "lab/predicted_over_measured/" + network.name;
  report.Add({.id = id,
              .unit = "% off",
              .value = PercentOff(MedianOf(ratios)),
              .at_most = kBoundPercent});
  report.Add({.id = id + "/warm",
              .unit = "% off",
              .value = PercentOff(MedianOf(warm_ratios))});
  report.Add({.id = "lab/predicted_us/" + network.name,
              .unit = "us",
              .value = MedianOf(predicted) * 1e6});
  report.Add({.id = "lab/measured_us/" + network.name,
              .unit = "us",
              .value = MedianOf(measured) * 1e6});
}

}  // namespace

void AddPredictionRows(const Options& options, Report& report) {
  const ThreadCountGuard threads(1);
  Scope scope;
  for (Network& network : LabNetworks(&scope)) {
    if (options.smoke && !network.name.starts_with("mlp")) continue;
    AddRowsOf(network, &scope, options, report);
  }
}

}  // namespace sluice::bench
