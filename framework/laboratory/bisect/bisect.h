#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/inspect/value_difference.h"
#include "sluice/framework/measure/order_statistics.h"
#include "sluice/framework/measure/race.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// What the search looks for.
enum class BisectFor : unsigned char { kResults, kTime };

struct BisectOptions {
  PlaceKey place{};
  BisectFor what = BisectFor::kResults;
  // Where one of them is given, results differ when |a - b| is more than
  // absolute + relative * max(|a|, |b|); else when it is more than rounding
  // explains (CompareWithReference has the bound).
  std::optional<double> relative_tolerance{};
  std::optional<double> absolute_tolerance{};
  // Of each race between a part under A and the same part under B.
  double race_seconds = 0.5;
  // Parts whose times differ by less than this share of the whole difference
  // are not looked into.
  double least_share = 0.1;
  int most_runs = 200;
};

// A part of the program with what it needs to run by itself. Each op has a hint
// that requires the kernel it had.
struct ProgramPart {
  Program program;
  Feeds feeds;
  Feeds parameters;  // persistables of the program
  std::vector<std::string> fetches;
  // By fetch: the variable of the whole program, and whether the part has its
  // axes as [N, H, W, C].
  std::vector<std::pair<std::string, bool>> values;
};

// Ops whose kernels make a difference: one, or several that passes of one side
// fused, or several of which none differs alone.
struct BisectFinding {
  std::string ops;  // "57 relu"; as kernels_a and kernels_b a UnitText
  std::string kernels_a;
  std::string kernels_b;
  bool together = false;  // several ops, and none differs alone
  // Of the results, with the inputs that the op has under A.
  std::string value;  // the variable that differs most
  ValueDifference difference;
  // What differs, and which of both the op's reference agrees with; or what a
  // kernel of B raised.
  std::string message;
  // Of the times, where they were asked for.
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
  int suspects = 0;  // parts with other kernels under B
  // Of the program, or of a part of it with B's kernels; a race of such a part
  // counts as one.
  int runs = 0;
  bool complete = true;  // most_runs sufficed, and nobody cancelled
  // kTime: the whole plans, as Run runs them.
  Timing time_a{};
  Timing time_b{};
};

// Finds the kernels that make two sets of kernel hints (kernel_hints.h) differ.
// The plans are those that Run uses, with all passes. Plan A runs once and
// every value of it is kept. Then ranges of ops run with B's kernels on the
// inputs that they have under A, so that errors do not add up from range to
// range; the op at which a range differs first is tried by itself, and where
// that shows nothing the range is halved. Random ops are taken from A.
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

// What was found, in sentences.
SLUICE_API std::string ToString(const BisectResult& result);

}  // namespace sluice::framework
