#pragma once

#include <optional>
#include <string>

#include "sluice/laboratory/bisect/golden_values.h"
#include "sluice/laboratory/bisect/plan_slice.h"
#include "sluice/laboratory/bisect/plan_units.h"
#include "sluice/laboratory/bisect/value_difference.h"

namespace sluice {

// Result of running a range of the program with B's kernels on A's inputs.
struct SliceTrial {
  bool differs = false;
  // The unit that raised or differs first. Nothing if a value differs only at
  // the end of the range.
  std::optional<size_t> unit{};
  std::string value;  // the variable of the program that differs there
  ValueDifference difference;
  std::string message;  // the error, or which kernel is wrong
  // Maxima over all compared values, including those that do not differ.
  double max_absolute = 0;
  double max_relative = 0;
};

// Runs a slice of plan b and compares every value that both plans have with the
// golden run: after the op that writes it, and again at the end if later units
// read it. `tolerance` is used if it is set, else the bound is rounding: 2
// sqrt(sum f^2) with f the RoundingFactor of each op on the longest path from
// an input of the slice. A larger difference still counts as none if the op's
// reference finds both kernels right, each for its own inputs. Raises what a
// cancelled run raises, and errors about missing memory or devices; other
// errors of kernels are part of the result.
SliceTrial TrySlice(const PlanPair& pair,
                    const GoldenValues& golden,
                    PlanSlice& slice,
                    const ValueTolerance& tolerance);

}  // namespace sluice
