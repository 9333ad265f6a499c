#pragma once

#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/values/scope.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/platform/export.h"

namespace sluice {

struct PredictionOptions {
  double budget_seconds = 5;  // ops beyond it keep their records
  double op_seconds = 0.1;    // for each measured op
};

// Predicted times of the parts of a run of a plan, in seconds.
struct SLUICE_API PlanPrediction {
  // By index in Plan::ops(): one call of the kernel alone, with its operands in
  // a cache or evicted, as in the graph.
  std::vector<double> ops;
  // By index: the time from records and estimates, which assume warm caches.
  std::vector<double> warm;
  // Whether `ops` was measured; otherwise it equals `warm`.
  std::vector<bool> measured;
  double transfers = 0;  // copies between places, by bytes
  double executor = 0;   // all other work of Plan::Run

  double total() const;
};

// Measures the kernels of a plan one by one, on the values of one run. Ops of
// the same signature and cache state are measured once. Updates of persistables
// are not visible outside. Raises what the run raises, and InvalidArgument for
// budgets that are not above 0.
SLUICE_API PlanPrediction Predict(const Plan& plan,
                                  const Feeds& feeds,
                                  const Scope* scope,
                                  const PredictionOptions& options = {});

// The median, or the minimum if there are few rounds or they vary widely, since
// noise only adds.
SLUICE_API double Undisturbed(const Timing& timing);

// The executor's overhead for a plan: a fixed time for each run, instruction,
// result and persistable.
SLUICE_API double ExecutorSeconds(const Plan& plan);

}  // namespace sluice
