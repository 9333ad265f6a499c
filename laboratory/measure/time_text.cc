#include "sluice/laboratory/measure/time_text.h"

#include <cmath>

#include "sluice/platform/error.h"

namespace sluice {

std::string TimeText(double seconds) {
  return seconds < 1e-3 ? Format("{:.2f} us", seconds * 1e6)
         : seconds < 1  ? Format("{:.2f} ms", seconds * 1e3)
                        : Format("{:.2f} s", seconds);
}

std::string RatioText(double ratio) {
  if (std::abs(ratio - 1) < 0.005) return "as long";
  return ratio > 1 ? Format("{:.3g} times as long", ratio)
                   : Format("{:.3g} times as fast", 1 / ratio);
}

std::string RatioText(const Interval& ratio) {
  return ratio.high < 1
             ? Format("{:.3g} to {:.3g} times as fast", 1 / ratio.high,
                      1 / ratio.low)
             : Format("{:.3g} to {:.3g} times as long", ratio.low, ratio.high);
}

}  // namespace sluice
