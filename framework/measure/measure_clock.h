#pragma once

#include "sluice/platform/export.h"

namespace sluice::framework {

// Seconds on std::chrono::steady_clock since some fixed moment.
SLUICE_API double ClockSeconds();

// The smallest step of that clock, and what two readings after one another
// cost, in seconds. Found once, in well below a millisecond.
struct ClockTraits {
  double resolution = 0;
  double cost = 0;
};
SLUICE_API const ClockTraits& MeasureClockTraits();

// Seconds of a fixed piece of integer arithmetic that touches no memory, some
// 20 us long: the shortest of three. Where it changes, the clock rate of the
// core has changed, or somebody else uses the core.
SLUICE_API double CalibrationSeconds();

}  // namespace sluice::framework
