#include "sluice/laboratory/measure/time_text.h"

#include <algorithm>
#include <cmath>

#include "sluice/laboratory/measure/race.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// The value rounded to significant digits, without an exponent.
std::string Significant(double value, int digits) {
  if (!(value > 0) || !std::isfinite(value)) return Format("{:.3g}", value);
  const auto places = [&](double x) {
    return digits - 1 - static_cast<int>(std::floor(std::log10(x)));
  };
  const double unit = std::pow(10.0, places(value));
  const double rounded = std::round(value * unit) / unit;
  return Format("{:.{}f}", rounded, std::max(places(rounded), 0));
}

}  // namespace

std::string TimeText(double seconds, int digits) {
  const double below = 1 - 0.5 * std::pow(10.0, -digits);
  return seconds < below * 1e-3
             ? Format("{} us", Significant(seconds * 1e6, digits))
         : seconds < below ? Format("{} ms", Significant(seconds * 1e3, digits))
                           : Format("{} s", Significant(seconds, digits));
}

std::string RangeText(double low, double high) {
  std::string from = TimeText(low);
  const std::string to = TimeText(high);
  const size_t unit = from.find(' ');
  if (from.substr(unit) == to.substr(to.find(' '))) from.resize(unit);
  return from + " to " + to;
}

bool Busy(const Timing& timing) {
  return IsDisturbed(timing) ||
         (timing.rounds > 1 && timing.high - timing.low > timing.median / 4);
}

std::string_view& ShowAll() {
  static std::string_view text = "ToString(result, true)";
  return text;
}

std::string RatioText(double ratio) {
  if (std::abs(ratio - 1) < 0.005) return "no gain";
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
