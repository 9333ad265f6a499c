#include "benchmarks/lab/prediction_rows.h"

#include <cmath>
#include <numeric>
#include <string>

#include "benchmarks/lab/networks.h"

#include "sluice/framework/inspect/profile.h"
#include "sluice/framework/laboratory/prediction.h"
#include "sluice/framework/laboratory/tune.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::bench {
namespace {

constexpr double kTuningSeconds = 20;
constexpr double kBoundPercent = 15;

double PercentOff(double predicted, double measured) {
  return 100 * std::abs(predicted / measured - 1);
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
  const framework::PlanPrediction prediction =
      framework::Predict(*plan, network.feeds, scope);
  const framework::ProfiledPlan run{plan.get(), &network.feeds, scope};
  const auto profiles = framework::ProfileTogether(
      {&run, 1}, {.budget_seconds = 4 * options.seconds});
  const double measured = profiles[0].run.median;
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
