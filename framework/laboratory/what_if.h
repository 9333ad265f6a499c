#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sluice/framework/measure/race.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// A kernel that is taken to be faster than it is; empty words fit all.
struct FasterKernel {
  std::string op;       // "conv2d"
  std::string library;  // "ONEDNN"
  std::string variant;
  double factor = 1;  // how many times as fast
};

// What is changed.
struct WhatIf {
  // Places that ops may run at besides the CPU, of devices that are there.
  std::vector<PlaceKey> devices;
  std::vector<FasterKernel> faster;
  // Of a copy between the CPU and a device: seconds + bytes / bytes_per_second.
  double link_seconds = 1e-5;
  double link_bytes_per_second = 1e10;
  bool link_given = false;    // else the link is the one that is there
  double budget_seconds = 5;  // for measuring
};

// One op of the plan, now and with the change; times are of one run.
struct PlacedOp {
  int op_index = 0;
  std::string op;
  std::string kernel_now;  // "ONEDNN direct at cpu"
  std::string kernel_then;
  double seconds_now = 0;
  double seconds_then = 0;
  bool measured_now = false;   // of the kernel by itself, in this process
  bool measured_then = false;  // the same; false where it is taken to be faster
  bool changes = false;        // it gets another kernel
};

struct Placement {
  std::vector<PlacedOp> ops;
  // Predicted, for a run: the ops' times, copies between places, and what the
  // executor adds.
  double predicted_now = 0;
  double predicted_then = 0;
  double copies_now = 0;
  double copies_then = 0;
  double executor = 0;
  double gap = 0;  // how much cheaper another assignment could be, 0 to 1
  // Of whole runs that take turns; without rounds where there is none.
  Timing measured_now;
  Timing measured_then;
  std::string not_measured;  // why there is no measured_then; "" if there is
  std::string hints;         // kernel hints that make the plan of `then`
  std::vector<std::string> notes;  // e.g. a device that no op has a kernel for
};

// Predicts what a program would cost with other devices, another link or faster
// kernels, if the ops ran where and with the kernels that are cheapest
// together (plan/assignment/assignment.h): each op pays its time at a place,
// each value its copies to the places where it is read, one for each.
// Parameters are copied in each run, as they are now. The whole plan is
// measured as it is and, where nothing about the change is made up, with the
// change.
//
// Raises InvalidArgument for a factor, a link or a budget that is no number
// above 0, for the CPU as a device and for more than three devices, NotFound
// for a faster kernel that no op of the plan could have and for a device that
// is not there, and what preparing and running the program raises.
SLUICE_API Placement Place(const Program& program,
                           const Feeds& feeds,
                           const Fetches& fetches,
                           const WhatIf& change,
                           const Scope* scope = nullptr);

// A table, and the totals in sentences that say what was predicted and what
// measured.
SLUICE_API std::string ToString(const Placement& placement);

}  // namespace sluice::framework
