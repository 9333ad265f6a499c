#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sluice/framework/inspect/explain_table.h"
#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/platform/export.h"

namespace sluice {

// A kernel that is assumed to be faster; an empty string matches all.
struct FasterKernel {
  std::string op;       // "conv2d"
  std::string library;  // "ONEDNN"
  std::string variant;
  double factor = 1;  // how many times as fast
};

// The change to predict.
struct WhatIf {
  // Places besides the CPU where ops may run; their devices must exist.
  std::vector<PlaceKey> devices;
  std::vector<FasterKernel> faster;
  // A copy to or from a device takes seconds + bytes / bytes_per_second.
  double link_seconds = 1e-5;
  double link_bytes_per_second = 1e10;
  bool link_given = false;    // false: use the existing link
  double budget_seconds = 5;  // for measurements
};

// One op of the plan, now and after the change; times are of one run.
struct PlacedOp {
  int op_index = 0;
  std::string op;
  std::string kernel_now;  // "onednn/direct", "systolic at fpga:0"
  std::string kernel_then;
  double seconds_now = 0;
  double seconds_then = 0;
  double seconds_in_run = 0;   // measured in runs of the plan, as it is now
  bool measured_now = false;   // the kernel alone, in this process
  bool measured_then = false;  // likewise; false if assumed faster
  bool changes = false;        // it gets another kernel
};

struct Placement {
  std::vector<PlacedOp> ops;
  // Predicted seconds of a run: ops, copies between places, and the executor.
  double predicted_now = 0;
  double predicted_then = 0;
  double copies_now = 0;
  double copies_then = 0;
  double executor = 0;
  double gap = 0;  // possible saving by another assignment, 0-1
  // Whole runs that take turns; no rounds if not measured.
  Timing measured_now;
  Timing measured_then;
  bool asked = true;         // for any change
  std::string not_measured;  // why there is no measured_then; "" if there is
  std::string hints;         // kernel hints that make the plan of `then`
  std::vector<std::string> notes;  // e.g. a device without kernels

  // Why the prediction is not to be believed: it and a measured run Contradict
  // each other (shown_times.h). Says both, and what is to blame. "" if it may
  // be.
  SLUICE_API std::string Contradiction() const;
};

// Predicts the cost of a program with other devices, another link or faster
// kernels, if each op ran at the place and with the kernel that minimise the
// total (plan/assignment/assignment.h). Each op costs its time at a place; each
// value costs one copy to each place that reads it. Parameters are copied in
// each run, as they are now. The whole plan is measured unchanged and, if the
// change is not hypothetical, with the change.
//
// Raises InvalidArgument for a factor, link or budget that is not a number
// above 0, for the CPU as a device and for more than three devices; NotFound
// for a faster kernel that no op of the plan could have and for a missing
// device; and what preparing and running the program raises.
SLUICE_API Placement PredictPlacement(const Program& program,
                                      const Feeds& feeds,
                                      const Fetches& fetches,
                                      const WhatIf& change,
                                      const Scope* scope = nullptr);

// The totals, predicted and measured, and a table of the ops that change; or of
// all. Without any prediction if there is a Contradiction.
SLUICE_API ExplainTable MakeTable(const Placement& placement, bool all = false);
SLUICE_API std::string ToString(const Placement& placement, bool all = false);

}  // namespace sluice
