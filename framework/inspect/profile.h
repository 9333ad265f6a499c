#pragma once

#include <span>
#include <string>
#include <vector>

#include "sluice/framework/measure/race.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// A median over rounds with its confidence interval (95 %, below 6 rounds the
// whole range), in seconds.
struct MedianTime {
  double median = 0;
  double low = 0;
  double high = 0;
};

// How long a plan and its parts take.
struct RunProfile {
  std::vector<MedianTime> instructions;
  // By op of the program: the kernel and what was copied for it; 0 where it
  // does not run.
  std::vector<MedianTime> ops;
  // Where each instruction would begin if all took their medians, one after
  // the other, and where the last one would end; in seconds.
  std::vector<double> begin;
  double total_seconds = 0;
  int rounds = 0;        // that these times are taken from
  Timing run;            // of Plan::Run, without a clock in it
  bool drifted = false;  // see RaceResult
};

struct ProfiledRun {
  std::vector<Tensor> results;
  RunProfile profile;
};

struct ProfileOptions {
  // Seconds for all runs but the first.
  double budget_seconds = 0.3;
  int max_rounds = 301;
};

// A plan and what it runs on. `scope` may be null, and is not written.
struct ProfiledPlan {
  const Plan* plan = nullptr;
  const Feeds* feeds = nullptr;
  const Scope* scope = nullptr;
};

// Measures plans against each other: runs of all of them take turns (race.h),
// plain ones and ones with a clock around every instruction, which wait for
// devices after each, so that times belong to their instruction. Profiles in
// the order of `plans`. Plans with collectives run 15 times, on all ranks
// alike. Raises InvalidArgument for no plans and a budget that is not above 0,
// and what the runs raise. Where SetCancelRequested ends it, the profiles are
// of what was measured until then.
SLUICE_API std::vector<RunProfile> ProfileTogether(
    std::span<const ProfiledPlan> plans, const ProfileOptions& options = {});

// Runs the plan once, which has its usual effect on `scope`, and then measures
// it on copies of the persistables.
SLUICE_API ProfiledRun RunProfiled(const Plan& plan,
                                   const Feeds& feeds,
                                   Scope* scope = nullptr,
                                   const ProfileOptions& options = {});

// The profile as Chrome-trace JSON, for Perfetto or chrome://tracing: one
// track a place.
SLUICE_API std::string ChromeTrace(const Plan& plan, const RunProfile& profile);

}  // namespace sluice::framework
