#pragma once

#include <string>
#include <string_view>

#include "sluice/framework/inspect/run_profile.h"
#include "sluice/framework/inspect/units.h"
#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/measure/order_statistics.h"
#include "sluice/platform/export.h"

namespace sluice {

// A time with so many significant digits, three for measured ones and two for
// estimates: "12.3 us", "16.0 ms", "1.20 s".
SLUICE_API std::string TimeText(double seconds, int digits = 3);
// "715 to 719 us", "980 us to 1.20 ms".
SLUICE_API std::string RangeText(double low, double high);

// Whether other programs must have used the CPUs: calls waited for them, or the
// interval is wider than a quarter of the median.
SLUICE_API bool Busy(const Timing& timing);

// What a reader does to see the rows that a text leaves out: what C++ programs
// call, unless the Python package says otherwise.
SLUICE_API std::string_view& ShowAll();

// A ratio of times: "1.20 times as long", "1.11 times as fast", or "no gain" if
// they are equal within half a percent.
SLUICE_API std::string RatioText(double ratio);
// An interval of ratios that excludes 1: "1.20 to 1.30 times as long".
SLUICE_API std::string RatioText(const Interval& ratio);

}  // namespace sluice
