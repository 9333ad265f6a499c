#pragma once

#include <vector>

#include "sluice/framework/measure/race.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

struct PredictionOptions {
  double budget_seconds = 5;  // ops that it does not suffice for keep records
  double op_seconds = 0.1;    // for each op that is measured
};

// What a run of a plan will take, from its parts; in seconds.
struct SLUICE_API PlanPrediction {
  // By index in Plan::ops(): one call of the kernel by itself, with its inputs
  // and outputs where they are in the graph: in a cache, or displaced by what
  // other ops touched since.
  std::vector<double> ops;
  // The same from records and estimates, for which everything is in the caches.
  std::vector<double> warm;
  // Whether `ops` was measured; else it is that of `warm`.
  std::vector<bool> measured;
  double transfers = 0;  // copies between places, by their bytes
  double executor = 0;   // everything else that Plan::Run does

  double total() const;
};

// Measures the kernels of a plan one by one, on the values that they have in
// one run of it; ops of the same signature and state of caches are measured
// once. What the run writes to persistables is not seen by anybody else. Raises
// what the run raises, and InvalidArgument for budgets that are not above 0.
SLUICE_API PlanPrediction Predict(const Plan& plan,
                                  const Feeds& feeds,
                                  const Scope* scope,
                                  const PredictionOptions& options = {});

// The median, or, where there are few rounds or other work on the machine
// disturbed most of them, the shortest: noise only adds.
SLUICE_API double Undisturbed(const Timing& timing);

// What the executor adds to the kernels of a plan: a fixed part for each run,
// for each instruction, result and persistable.
SLUICE_API double ExecutorSeconds(const Plan& plan);

}  // namespace sluice::framework
