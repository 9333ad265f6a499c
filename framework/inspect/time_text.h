#pragma once

#include <string>

#include "sluice/framework/measure/order_statistics.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// "12.34 us", "15.97 ms" or "1.20 s".
SLUICE_API std::string TimeText(double seconds);

// What a ratio of times says: "1.20 times as long", "1.11 times as fast", or
// "as long" where they are equal to half a percent.
SLUICE_API std::string RatioText(double ratio);
// The same for an interval that 1 is not in: "1.20 to 1.30 times as long".
SLUICE_API std::string RatioText(const Interval& ratio);

}  // namespace sluice::framework
