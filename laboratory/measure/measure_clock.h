#pragma once

#include <string>

#include "sluice/platform/export.h"

namespace sluice {

// Seconds of std::chrono::steady_clock since a fixed moment.
SLUICE_API double ClockSeconds();

// The smallest step of that clock, and the cost of two consecutive readings, in
// seconds. Measured once, in well below a millisecond.
struct ClockTraits {
  double resolution = 0;
  double cost = 0;
};
SLUICE_API const ClockTraits& MeasureClockTraits();

// Seconds of a fixed piece of integer arithmetic that touches no memory, about
// 20 us: the shortest of three runs. A change means that the clock rate of the
// core has changed, or that another program uses the core.
SLUICE_API double CalibrationSeconds();

// The current time in UTC, "2025-03-01T12:00:00.000Z", as the date of a record.
SLUICE_API std::string UtcNow();

}  // namespace sluice
