#pragma once

#include <string>
#include <vector>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/inspect/explain_table.h"
#include "sluice/framework/inspect/run_profile.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/laboratory/measure/shown_times.h"
#include "sluice/platform/export.h"

namespace sluice {

// One op of a plan with its copies; as many ops of the program as it covers.
struct ProfiledCall {
  int number = 0;         // that hints take: the first op that it covers
  bool inserted = false;  // a pass put it in
  std::string op;         // "mul+add+relu"
  std::string kernel;     // KernelName
  double seconds = 0;
  double predicted = 0;      // 0 where it is of another device: an emulated one
  std::string why = {};      // the kernel was chosen
  bool runs_blocks = false;  // which are not measured by tuning
  Evidence evidence = Evidence::kEstimate;

  // How many times its estimate is too low, or, below 1, too high; 1 where it
  // is not an estimate, or either time is too short to compare.
  SLUICE_API double off() const;
  // "#33 conv2d_grad_filter", "+38 transpose".
  SLUICE_API std::string name() const;
  std::string number_text() const;  // "+38" for a call that a pass put in
  // "5.7x too low", "3.1x too high"; "" where it is not far off.
  SLUICE_API std::string off_text() const;
};

// A profile for people, independent of its plan.
struct ProfileReport {
  std::string title;      // place, threads and what was fed
  Timing run;             // of a whole run, without clocks at each op
  bool emulated = false;  // some places, so that predictions are of a GPU
  std::vector<ProfiledCall> calls;  // those that take longest first

  // The run beside the sum of its calls.
  SLUICE_API ShownTimes shown() const;
};

// The calls in running order.
SLUICE_API std::vector<ProfiledCall> ProfiledCalls(const Plan& plan,
                                                   const RunProfile& profile);
SLUICE_API ProfileReport MakeProfileReport(const Plan& plan,
                                           const RunProfile& profile);

// The run, so many of its calls, and the estimates that are far off, in lines
// of at most 80 columns. Shares are left out if the machine was busy, the calls
// where the run contradicts them.
SLUICE_API ExplainTable MakeTable(const ProfileReport& report,
                                  size_t rows = 10);
SLUICE_API std::string ToString(const ProfileReport& report, size_t rows = 10);

// Explain's table with measured times: each call in its order with its
// estimate, the time that it took, by what factor these differ, and why its
// kernel was chosen. With `options.fold` only the slowest of many calls;
// `options.op` selects one.
SLUICE_API ExplainTable MeasuredTable(const Plan& plan,
                                      const RunProfile& profile,
                                      const ExplainOptions& options = {});

}  // namespace sluice
