#pragma once

#include <span>
#include <vector>

#include "sluice/framework/inspect/profile.h"
#include "sluice/framework/measure/race.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// The median of several runs with its 95 % confidence interval, in seconds.
struct MedianTime {
  double median = 0;
  double low = 0;
  double high = 0;
};

// How long a plan and its ops take. A value.
struct PlanTimes {
  Timing run;       // of Plan::Run
  Timing profiled;  // of runs with a clock around every instruction
  int profiled_runs = 0;
  std::vector<MedianTime> instructions;  // by instruction
  // By op index: the kernel and what was copied for it; 0 where it does not
  // run.
  std::vector<MedianTime> ops;
  RunProfile typical;    // the profiled run with the median total
  bool drifted = false;  // see RaceResult
};

// Runs each plan as Run does and with a clock around every instruction, all in
// turns, for about `budget_seconds` at most, but at least once each: times of
// plans that are to be compared come from one call. `scope` is not written; it
// may be null when the program has no persistables. Raises InvalidArgument for
// a budget that is not above 0 and for no plans, FailedPrecondition when
// SetCancelRequested ended it, and what running the plans raises.
SLUICE_API std::vector<PlanTimes> TimePlans(std::span<const Plan* const> plans,
                                            const Feeds& feeds,
                                            const Scope* scope,
                                            double budget_seconds);

}  // namespace sluice::framework
