#include "sluice/laboratory/measure/shown_times.h"

#include <algorithm>
#include <cmath>

#include "sluice/framework/inspect/units.h"
#include "sluice/laboratory/measure/race_judge.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/platform/error.h"

namespace sluice {

std::string ShownTimes::RunText(bool says_busy) const {
  const std::string range =
      has_interval() ? RangeText(run.low, run.high) + ", " : "";
  return Format("{} ({}{}{}{})", TimeText(run.median), range,
                Counted(std::max(run.rounds, 1), "run"),
                has_interval() ? "" : " only",
                says_busy && Busy(run) ? ", machine busy" : "");
}

std::string ShownTimes::WhyNoOps() const {
  if (!Contradict(run.median, ops)) return "";
  const double ratio = ops / run.median;
  return Format(
      "the ops are not listed: in the same turns they add up to {}, and a run "
      "takes {}, {:.3g} times apart; measure again when the machine is quiet",
      TimeText(ops), TimeText(run.median), std::max(ratio, 1 / ratio));
}

bool Contradict(double a, double b) {
  constexpr double kApart = 1.5;
  constexpr double kTooShort = 5e-6;
  return std::max(a, b) > kApart * std::min(a, b) &&
         std::abs(a - b) > kTooShort;
}

std::string ComparedText(std::string_view subject,
                         const Interval& ratio,
                         const Timing& now,
                         const Timing& before) {
  if (!std::isfinite(ratio.high)) return "too few turns to tell a difference";
  if (!Apart(ratio)) return "no difference that can be told from noise";
  const int turns = std::min(now.rounds, before.rounds);
  return Format("{}{}", subject,
                turns < kLeastTurns ? RatioText(now.median / before.median)
                                    : RatioText(ratio));
}

std::string ComparedText(const Timing& now, const Timing& before) {
  const bool timed = now.low > 0 && before.low > 0;
  return ComparedText(
      "",
      timed ? Interval{now.low / before.high, now.high / before.low}
            : Interval{1, 1},
      now, before);
}

}  // namespace sluice
