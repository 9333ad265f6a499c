#pragma once

#include <optional>
#include <string>

#include "sluice/framework/inspect/value_difference.h"
#include "sluice/framework/laboratory/bisect/golden_values.h"
#include "sluice/framework/laboratory/bisect/plan_slice.h"
#include "sluice/framework/laboratory/bisect/plan_units.h"

namespace sluice::framework {

// What running a part of a program with B's kernels, on A's inputs, showed.
struct SliceTrial {
  bool differs = false;
  // The unit that differs first, or raised; nothing where a value differs only
  // when the part has ended.
  std::optional<size_t> unit{};
  std::string value;  // the variable of the program that differs there
  ValueDifference difference;
  std::string message;  // what was raised, or which kernel is wrong
  // Over all values that were looked at, also those that do not differ.
  double max_absolute = 0;
  double max_relative = 0;
};

// Runs a slice of plan b and compares every value that both plans have with
// that of the golden run: after the op that makes it, and those that somebody
// else reads again at the end. `tolerance` is used where it is given, else what
// rounding explains: 2 sqrt(sum f^2) with f the RoundingFactor of each op on
// the longest way from an input of the slice. What is beyond that does not
// differ where the op's reference finds both kernels to be right, each for
// the inputs that it had. Raises what a cancelled run raises, and errors for
// want of memory or a device; others of kernels are part of the result.
SliceTrial TrySlice(const PlanPair& pair,
                    const GoldenValues& golden,
                    PlanSlice& slice,
                    const ValueTolerance& tolerance);

// "[3, 1]": an element by its index in row-major order.
std::string IndexText(const DDim& dims, int64_t element);

}  // namespace sluice::framework
