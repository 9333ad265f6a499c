#pragma once

#include <string>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// How long each instruction of one run took.
struct SLUICE_API RunProfile {
  std::vector<double> seconds;  // by instruction
  std::vector<double> begin;    // seconds since the run began
  double total_seconds = 0;

  // Seconds of the kernel of op `op_index`, and of what it was copied.
  double OpSeconds(const Plan& plan, int op_index) const;
  // The same for all ops of the program; 0 for those that do not run.
  std::vector<double> SecondsByOp(const Plan& plan) const;
};

struct ProfiledRun {
  std::vector<Tensor> results;
  RunProfile profile;
};

// Runs the plan with a clock around every instruction; waits for devices after
// each, so that times belong to their instruction.
SLUICE_API ProfiledRun RunProfiled(const Plan& plan,
                                   const Feeds& feeds,
                                   Scope* scope = nullptr);

// The profile as Chrome-trace JSON, for Perfetto or chrome://tracing: one
// track a place.
SLUICE_API std::string ChromeTrace(const Plan& plan, const RunProfile& profile);

}  // namespace sluice::framework
