#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/inspect/run_profile.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/laboratory/measure/shown_times.h"
#include "sluice/platform/export.h"

namespace sluice {

struct ProfiledRun {
  std::vector<Tensor> results;
  RunProfile profile;
};

struct ProfileOptions {
  // Seconds for all runs except the first; more where kLeastTurns take longer,
  // but for that least_seconds at most.
  double budget_seconds = 0.3;
  double least_seconds = kLeastSeconds;
  int max_rounds = 301;
};

// A plan and its inputs. `scope` may be null and is not written.
struct ProfiledPlan {
  const Plan* plan = nullptr;
  const Feeds* feeds = nullptr;
  const Scope* scope = nullptr;
};

// Measures plans against each other. Runs of all plans take turns (race.h):
// plain ones, and ones that read a clock and wait for devices after every
// instruction, so that times belong to their instruction. Returns profiles in
// the order of `plans`. Plans with collectives run 15 times, on all ranks
// alike. Raises InvalidArgument if `plans` is empty or the budget is not above
// 0, and what the runs raise. After SetCancelRequested, the profiles contain
// what was measured so far.
SLUICE_API std::vector<RunProfile> ProfileTogether(
    std::span<const ProfiledPlan> plans, const ProfileOptions& options = {});

// Runs the plan once, with its usual effect on `scope`, and then measures it on
// copies of the persistables.
SLUICE_API ProfiledRun RunProfiled(const Plan& plan,
                                   const Feeds& feeds,
                                   Scope* scope = nullptr,
                                   const ProfileOptions& options = {});

// The profile as Chrome-trace JSON, for Perfetto or chrome://tracing, with one
// track for each queue: medians, one after another, if they may be shown
// (shown_times.h). With `again`, whose plan is
// this one, also runs it once more on copies of the persistables, and adds that
// run as a second process. `name` is the program's; TracedProgram() if empty.
SLUICE_API std::string ChromeTrace(const Plan& plan,
                                   const RunProfile& profile,
                                   std::string_view name = "",
                                   const ProfiledPlan* again = nullptr);

}  // namespace sluice
