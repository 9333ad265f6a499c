#include "benchmarks/lab/prediction_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "benchmarks/lab/networks.h"
#include <time.h>

#include "sluice/framework/laboratory/prediction.h"
#include "sluice/framework/plan/persistables.h"
#include "sluice/framework/run/tune_program.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::bench {
namespace {

constexpr double kTuningSeconds = 20;
constexpr double kPredictionSeconds = 30;
constexpr double kBoundPercent = 15;

double PercentOff(double predicted, double measured) {
  return 100 * std::abs(predicted / measured - 1);
}

// Seconds that the thread computes in one call. On one thread that is the time
// of the call, without what other processes took of the core meanwhile.
double ComputingSeconds(double seconds, const std::function<void()>& call) {
  const auto now = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) +
           1e-9 * static_cast<double>(time.tv_nsec);
  };
  std::vector<double> samples;
  const double end = now(CLOCK_MONOTONIC) + seconds;
  for (int run = 0; run < 9 || now(CLOCK_MONOTONIC) < end; ++run) {
    const double begin = now(CLOCK_THREAD_CPUTIME_ID);
    call();
    const double sample = now(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (run >= 2) samples.push_back(sample);  // the first ones warm up
  }
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2,
                   samples.end());
  return samples[samples.size() / 2];
}

void AddRowsOf(Network& network,
               framework::Scope* scope,
               const Options& options,
               Report& report) {
  framework::Executor executor;
  framework::Tune(executor, network.program, network.feeds, network.fetches,
                  scope, {.budget_seconds = kTuningSeconds});
  const auto plan =
      executor.Prepare(network.program, network.feeds, network.fetches);
  const framework::PlanPrediction prediction = framework::Predict(
      *plan, network.feeds, scope, {.budget_seconds = kPredictionSeconds});
  framework::Scope copies;
  framework::CopyPersistables(*plan, scope, &copies);
  const double measured = ComputingSeconds(
      2 * options.seconds, [&] { plan->Run(network.feeds, &copies); });
  const double warm =
      std::accumulate(prediction.warm.begin(), prediction.warm.end(),
                      prediction.executor + prediction.transfers);
  const std::string id = "lab/predicted_over_measured/" + network.name;
  report.Add({.id = id,
              .unit = "% off",
              .value = PercentOff(prediction.total(), measured),
              .at_most = kBoundPercent});
  report.Add({.id = id + "/warm",
              .unit = "% off",
              .value = PercentOff(warm, measured)});
  report.Add({.id = "lab/predicted_us/" + network.name,
              .unit = "us",
              .value = prediction.total() * 1e6});
  report.Add({.id = "lab/measured_us/" + network.name,
              .unit = "us",
              .value = measured * 1e6});
}

}  // namespace

void AddPredictionRows(const Options& options, Report& report) {
  const platform::ThreadCountGuard threads(1);
  framework::Scope scope;
  for (Network& network : LabNetworks(&scope)) {
    AddRowsOf(network, &scope, options, report);
  }
}

}  // namespace sluice::bench
