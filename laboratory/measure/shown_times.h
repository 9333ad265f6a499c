#pragma once

#include <string>
#include <string_view>

#include "sluice/framework/inspect/run_profile.h"
#include "sluice/laboratory/measure/order_statistics.h"
#include "sluice/platform/export.h"

// The one rule by which screens show times: those of Compare, profiles, Tune,
// what-if, reports, traces and the demos (docs/measurements.md).
namespace sluice {

// Plans are measured for at least this many turns, or this many seconds.
inline constexpr int kLeastTurns = 10;
inline constexpr double kLeastSeconds = 3;

// A run and its ops, measured in the same turns.
struct SLUICE_API ShownTimes {
  Timing run{};
  double ops = 0;  // the sum of their medians, in seconds

  // Medians of fewer turns have no interval.
  bool has_interval() const { return run.rounds >= kLeastTurns; }
  // "6.85 ms (6.80 to 6.90 ms, 12 runs)", "6.85 ms (2 runs only)"; and whether
  // the machine was busy, unless another line says it.
  std::string RunText(bool says_busy = true) const;
  // Why the ops are not listed; "" if they are.
  std::string WhyNoOps() const;
};

inline std::string TimeText(const Timing& run) {
  return ShownTimes{run}.RunText();
}

// Whether two times of the same work, in seconds, are more than 1.5 times
// apart. Differences of less than 5 us are those of the clock and of the
// executor.
SLUICE_API bool Contradict(double a, double b);

// "1.20 to 1.30 times as long", or with fewer than kLeastTurns "1.25 times as
// long", after `subject`; or that there is no difference, or too few turns to
// tell. `ratio` is that of `now` to `before`.
SLUICE_API std::string ComparedText(std::string_view subject,
                                    const Interval& ratio,
                                    const Timing& now,
                                    const Timing& before);
// The same for runs that did not take turns.
SLUICE_API std::string ComparedText(const Timing& now, const Timing& before);

}  // namespace sluice
