#pragma once

#include <string>

#include "sluice/laboratory/measure/order_statistics.h"
#include "sluice/platform/export.h"

namespace sluice {

// "12.34 us", "15.97 ms" or "1.20 s".
SLUICE_API std::string TimeText(double seconds);

// A ratio of times: "1.20 times as long", "1.11 times as fast", or "as long" if
// they are equal within half a percent.
SLUICE_API std::string RatioText(double ratio);
// An interval of ratios that excludes 1: "1.20 to 1.30 times as long".
SLUICE_API std::string RatioText(const Interval& ratio);

}  // namespace sluice
