#include "sluice/framework/inspect/units.h"

#include <algorithm>
#include <cmath>

#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

constexpr double kMicrosecond = 1e-6;

// Rounds to a number of significant digits.
double Rounded(double number, int digits) {
  if (!(number > 0) || !std::isfinite(number)) return number;
  const double unit = std::pow(10, std::floor(std::log10(number)) - digits + 1);
  return std::round(number / unit) * unit;
}

}  // namespace

TimeUnit::TimeUnit(double longest_seconds)
    : name_(longest_seconds < 0.1   ? "us"
            : longest_seconds < 100 ? "ms"
                                    : "s"),
      seconds_(longest_seconds < 0.1   ? kMicrosecond
               : longest_seconds < 100 ? 1e-3
                                       : 1),
      decimals_(longest_seconds < 10e-6 || longest_seconds >= 0.1 ? 1 : 0) {}

std::string TimeUnit::Cell(double seconds, int digits) const {
  if (seconds <= 0) return "";
  if (seconds < kMicrosecond) return seconds_ > kMicrosecond ? "0.0" : "<1";
  return Format("{:.{}f}", Rounded(seconds / seconds_, digits), decimals_);
}

std::string ShortTime(double seconds, bool estimated) {
  if (seconds < kMicrosecond) return "<1 us";
  const int digits = estimated ? 2 : 3;
  double shown = Rounded(seconds / kMicrosecond, digits);
  std::string_view unit = "us";
  if (shown >= 1e6) {
    shown /= 1e6;
    unit = "s";
  } else if (shown >= 1e3) {
    shown /= 1e3;
    unit = "ms";
  }
  const int before = shown > 0 && std::isfinite(shown)
                         ? 1 + static_cast<int>(std::log10(shown))
                         : 1;
  return Format("{:.{}f} {}", shown, std::max(0, digits - before), unit);
}

std::string Counted(size_t count, std::string_view noun) {
  return Format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string TimesAsLong(double ratio) {
  if (!(ratio < 999.5)) return ">999x";
  if (ratio > 0.95 && ratio < 1.05) return "same";
  return Format("{:.{}f}x", ratio, ratio < 9.95 ? 1 : 0);
}

std::string CutMiddle(std::string_view text, size_t width) {
  if (text.size() <= width) return std::string(text);
  if (width < 5) return std::string(Utf8Prefix(text, width));
  const std::string_view start = Utf8Prefix(text, (width - 2 + 1) / 2);
  size_t end = text.size() - (width - 2 - start.size());
  while (end < text.size() &&
         (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) {
    ++end;
  }
  return Format("{}..{}", start, text.substr(end));
}

std::string CutReason(std::string_view reason, size_t width) {
  const size_t end = reason.size() > width ? reason.find(", ") : reason.npos;
  return CutMiddle(reason.substr(0, end), width);
}

}  // namespace sluice
