#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/inspect/explain_table.h"
#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/measure/order_statistics.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/platform/export.h"

namespace sluice {

// One op under two sets of kernel hints, or several ops that a pass fused under
// one of them.
struct OpComparison {
  int op_index = 0;      // of the first op of the program in it, as in Explain
  std::string op;        // "conv2d+relu", as in Explain; "conv2d, relu"
  std::string kernel_a;  // UnitText: "onednn/direct", "plain (NHWC)"
  std::string kernel_b;
  bool inserted = false;  // by a pass; under one set of hints, or both
  bool same = false;      // the same kernels in the same layouts
  // Medians over runs of the whole plans, which take turns.
  double seconds_a = 0;
  double seconds_b = 0;
  // Maxima over the values that both compute. B's kernels get the inputs that A
  // computed, so that errors do not accumulate.
  double max_absolute_error = 0;
  double max_relative_error = 0;  // |a - b| / max(|a|, |b|)
  bool differs =
      false;            // beyond the tolerance, in shape or dtype, or it raised
  std::string message;  // which kernel is wrong, or B's error
};

struct CompareOptions {
  PlaceKey place{};
  // If one of them is set, outputs agree when
  // |a - b| <= absolute + relative * max(|a|, |b|). Otherwise they agree when
  // they differ by no more than rounding explains, by dtype and length of sums
  // (CompareWithReference has the bound). A NaN agrees with a NaN.
  std::optional<double> relative_tolerance{};
  std::optional<double> absolute_tolerance{};
  // The fetches of a run, because passes keep fetched variables. If empty,
  // every variable that no op reads.
  Fetches fetches{};
  double budget_seconds = 0.5;  // for the times; ProfileOptions
};

struct Comparison {
  std::string hints_a;  // as given
  std::string hints_b;
  // PlacesText of plan A and of plan B.
  std::string places_a = {};
  std::string places_b = {};
  std::vector<OpComparison> ops;
  // Why plans do not take kernels that hints of A or B ask for, where records
  // say that these gave wrong results.
  std::vector<std::string> known_wrong = {};
  // Index into `ops` of the first that differs; -1 when all agree.
  int first_difference = -1;
  // Times of a whole run without a clock between ops.
  Timing run_a;
  Timing run_b;
  // How many times as long B takes: 99 % interval of the median ratio.
  Interval b_over_a{};
};

// The kernel hints of a named kernel set: none for "default"; hints that
// require the plain kernels for "reference". Other text is returned unchanged,
// as hints.
SLUICE_API std::string_view HintsOfSet(std::string_view text);

// Prepares `program` under `hints_a` and under `hints_b` (kernel_hints.h, or
// the name of a kernel set) as Run would, with all passes. Compares the plans
// op by op, with errors and times of each op. Random ops are not compared.
// Persistables are read from `scope` and not written. Raises what preparing or
// running either plan raises.
SLUICE_API Comparison Compare(const Program& program,
                              const Feeds& feeds,
                              std::string_view hints_a,
                              std::string_view hints_b,
                              const CompareOptions& options = {},
                              const Scope* scope = nullptr);

// What A and B are and how long they take, whether results differ, and a table
// of the ops with other kernels or layouts, those first whose times differ
// most; or of all ops, in their order.
SLUICE_API ExplainTable MakeTable(const Comparison& comparison,
                                  bool all = false);
SLUICE_API std::string ToString(const Comparison& comparison, bool all = false);

}  // namespace sluice
