#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/measure/order_statistics.h"
#include "sluice/framework/measure/race.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// One op under two ways of choosing kernels, or several that a pass fused under
// one of them.
struct OpComparison {
  int op_index = 0;      // of the first op
  std::string op;        // "conv2d, relu"
  std::string kernel_a;  // "PLAIN plain at cpu"
  std::string kernel_b;
  // Medians in runs of the whole plans, which take turns.
  double seconds_a = 0;
  double seconds_b = 0;
  // Over the values that both make, with B's kernels fed what A computed, so
  // that errors do not add up from op to op.
  double max_absolute_error = 0;
  double max_relative_error = 0;  // |a - b| / max(|a|, |b|)
  bool differs =
      false;            // beyond the tolerance, in shape or dtype, or it raised
  std::string message;  // which kernel is wrong, or what B's raised
};

struct CompareOptions {
  PlaceKey place{};
  // Where one of them is given, outputs agree when
  // |a - b| <= absolute + relative * max(|a|, |b|). Else they agree when they
  // differ by no more than rounding explains, by dtype and length of sums
  // (CompareWithReference has the bound). NaN agrees with NaN.
  std::optional<double> relative_tolerance{};
  std::optional<double> absolute_tolerance{};
  // What a run would fetch: passes keep what is fetched. What no op reads, if
  // empty.
  Fetches fetches{};
  double budget_seconds = 0.5;  // for the times
};

struct Comparison {
  std::vector<OpComparison> ops;
  // Index into `ops` of the first that differs; -1 when all agree.
  int first_difference = -1;
  // Of a whole run, without a clock in it.
  Timing run_a;
  Timing run_b;
  // How many times as long B takes: the 99 % interval of the median ratio.
  Interval b_over_a{};
};

// The kernel hints of a kernel set: none for "default", those that require the
// plain kernels for "reference". Text that names no set is taken for hints and
// returned unchanged.
SLUICE_API std::string_view HintsOfSet(std::string_view text);

// Prepares `program` under `hints_a` and under `hints_b` (kernel_hints.h, or
// the name of a kernel set) as
// Run would, with all passes, and says op by op where they part, with errors
// and times of each. Random ops are not compared. Persistables are read from
// `scope` and not written. Raises what preparing either plan and running them
// raises.
SLUICE_API Comparison Compare(const Program& program,
                              const Feeds& feeds,
                              std::string_view hints_a,
                              std::string_view hints_b,
                              const CompareOptions& options = {},
                              const Scope* scope = nullptr);

// A table, and one line about the first difference.
SLUICE_API std::string ToString(const Comparison& comparison);

}  // namespace sluice::framework
