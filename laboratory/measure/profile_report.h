#pragma once

#include <string>
#include <vector>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/inspect/run_profile.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice {

// One op of a plan with its copies; as many ops of the program as it covers.
struct ProfiledCall {
  int number = 0;         // that hints take: the first op that it covers
  bool inserted = false;  // a pass put it in
  std::string op;         // "mul+add+relu"
  std::string kernel;     // KernelName
  double seconds = 0;
  double predicted = 0;
  Evidence evidence = Evidence::kEstimate;

  // How many times its estimate is too low, or, below 1, too high; 1 where it
  // is not an estimate, or either time is too short to compare.
  SLUICE_API double off() const;
  // "33 conv2d_grad_filter", "+ transpose".
  SLUICE_API std::string name() const;
};

// A profile for people, independent of its plan.
struct ProfileReport {
  std::string title;  // place, threads and what was fed
  Timing run;         // of a whole run, without clocks at each op
  double clocked_seconds = 0;
  std::vector<ProfiledCall> calls;  // those that take longest first
};

SLUICE_API ProfileReport MakeProfileReport(const Plan& plan,
                                           const RunProfile& profile);

// "mul+add+relu": the types of ops that one kernel computes, the first in full.
SLUICE_API std::string CallName(const Decision& decision);

// The run, so many of its calls, and the estimates that are far off, in lines
// of at most 80 columns. Shares are left out if the machine was busy.
SLUICE_API std::string ToString(const ProfileReport& report, size_t rows = 10);

}  // namespace sluice
