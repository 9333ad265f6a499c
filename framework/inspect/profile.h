#pragma once

#include <span>
#include <string>
#include <vector>

#include "sluice/framework/measure/race.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// How long each instruction of a plan takes, and a run of it. Times of
// instructions are medians over rounds, in seconds.
struct SLUICE_API RunProfile {
  std::vector<double> seconds;  // by instruction
  // Confidence intervals of them (95 %, with few rounds the whole range); may
  // be empty.
  std::vector<double> low;
  std::vector<double> high;
  std::vector<double> begin;  // where each would begin, one after the other
  double total_seconds = 0;   // where the last one would end
  int rounds = 0;             // that the times of instructions are taken from
  Timing run;                 // of Plan::Run, without a clock in it

  // Seconds of the kernel of op `op_index`, and of what it was copied.
  double OpSeconds(const Plan& plan, int op_index) const;
  // The same for all ops of the program; 0 for those that do not run.
  std::vector<double> SecondsByOp(const Plan& plan) const;
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
// the order of `plans`. Raises what the runs raise.
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
