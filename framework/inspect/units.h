#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sluice/memory/allocator.h"
#include "sluice/platform/export.h"

// How Explain writes quantities.
namespace sluice {

// The unit of a column of times, which suits the longest of them.
class SLUICE_API TimeUnit {
 public:
  explicit TimeUnit(double longest_seconds);

  std::string_view name() const { return name_; }  // "us", "ms" or "s"
  // The number alone, of so many digits: two for an estimate, three for a
  // measured time. "<1" below a microsecond, which a clock cannot tell from
  // nothing; "" for 0: no time.
  std::string Cell(double seconds, int digits = 3) const;

 private:
  std::string_view name_;
  double seconds_;  // of one
  int decimals_;    // 0 for us from 10 on
};

// A time with its unit: "96 us", "1.2 ms", "<1 us". Estimates have two digits,
// others three.
SLUICE_API std::string ShortTime(double seconds, bool estimated);
// "1 op", "12 ops".
SLUICE_API std::string Counted(size_t count, std::string_view noun);
// A ratio of times: "same" within 5 %, "1.8x", "25x", ">999x".
SLUICE_API std::string TimesAsLong(double ratio);
// Cuts the middle out of a text that is longer than `width`:
// "softmax_with_..ropy_grad".
SLUICE_API std::string CutMiddle(std::string_view text, size_t width);
// The same of a longer reason, and first without what follows a comma.
SLUICE_API std::string CutReason(std::string_view reason, size_t width);

}  // namespace sluice
