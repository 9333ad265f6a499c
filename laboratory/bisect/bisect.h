#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/bisect/value_difference.h"
#include "sluice/laboratory/measure/order_statistics.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/platform/export.h"

namespace sluice {

// The kind of difference to search for.
enum class BisectFor : unsigned char { kResults, kTime };

struct BisectOptions {
  PlaceKey place{};
  BisectFor what = BisectFor::kResults;
  // If one of them is set, results differ when |a - b| is more than absolute +
  // relative * max(|a|, |b|). Otherwise they differ when it is more than
  // rounding explains (CompareWithReference has the bound).
  std::optional<double> relative_tolerance{};
  std::optional<double> absolute_tolerance{};
  // Seconds of each race between a range of ops under A and under B, or as long
  // as five turns take; and of all races together.
  double race_seconds = 0.5;
  double budget_seconds = 60;
  // The search skips ranges whose times differ by less than this share of the
  // whole difference.
  double least_share = 0.1;
  int most_runs = 200;
};

// A range of the program as a program of its own. Each op has a hint that
// requires the kernel it had.
struct ProgramPart {
  Program program;
  Feeds feeds;
  Feeds parameters;  // persistables of the program
  std::vector<std::string> fetches;
  // By fetch: the variable of the whole program, and whether its axes are [N,
  // H, W, C] here.
  std::vector<std::pair<std::string, bool>> values;
};

// Ops whose kernels make a difference: one op, several ops that one plan fused,
// or several ops of which none differs alone.
struct BisectFinding {
  std::string ops;  // "57 relu"; the texts are those of UnitText
  std::string kernels_a;
  std::string kernels_b;
  bool together = false;  // several ops, and none differs alone
  // For kResults: the outputs, with the inputs that the op has under A.
  std::string value;  // the variable that differs most
  ValueDifference difference;
  // The difference and the side that the op's reference agrees with, or the
  // error that a kernel of B raised.
  std::string message;
  // For kTime.
  Timing time_a;
  Timing time_b;
  Interval b_over_a{};
  ProgramPart a;
  ProgramPart b;
};

struct BisectResult {
  BisectFor what = BisectFor::kResults;
  std::vector<BisectFinding> findings;
  int ops = 0;       // of plan A
  int suspects = 0;  // ops with other kernels under B
  // Runs of the program, or of a range of it with B's kernels. A race counts as
  // one.
  int runs = 0;
  // Whether most_runs and the budget sufficed, without a cancellation.
  bool complete = true;
  // kTime: times of the whole plans.
  Timing time_a{};
  Timing time_b{};
};

// Finds the kernels that make two sets of kernel hints (kernel_hints.h) differ.
// The plans are those that Run uses, with all passes. Plan A runs once and all
// its values are kept. Then ranges of ops run with B's kernels on the inputs
// that they have under A, so that errors do not accumulate. The first op that
// differs in a range is tried alone. If it does not differ alone, the range is
// halved. The outputs of random ops are taken from A.
//
// Persistables are read from `scope` and not written. Raises what preparing
// either plan, or running plan A, raises.
SLUICE_API BisectResult Bisect(const Program& program,
                               const Feeds& feeds,
                               const Fetches& fetches,
                               std::string_view hints_a,
                               std::string_view hints_b,
                               const BisectOptions& options = {},
                               const Scope* scope = nullptr);

// Describes the result in sentences.
SLUICE_API std::string ToString(const BisectResult& result);

}  // namespace sluice
