#include "sluice/laboratory/measure/shown_times.h"

#include <algorithm>
#include <cmath>

#include "sluice/framework/inspect/units.h"
#include "sluice/laboratory/measure/race_judge.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/platform/error.h"

namespace sluice {

std::string ShownTimes::RunText() const {
  if (!has_interval()) {
    return Format("{} ({} only)", TimeText(run.median),
                  Counted(std::max(run.rounds, 1), "run"));
  }
  return Format("{} ({}, {})", TimeText(run.median),
                RangeText(run.low, run.high), Counted(run.rounds, "run"));
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

std::string ComparedText(const Interval& ratio,
                         const Timing& now,
                         const Timing& before) {
  if (!Apart(ratio)) return "";
  const int turns = std::min(now.rounds, before.rounds);
  return turns < kLeastTurns ? RatioText(now.median / before.median)
                             : RatioText(ratio);
}

std::string ComparedText(const Timing& now, const Timing& before) {
  if (!(now.low > 0) || !(before.low > 0)) return "";
  return ComparedText({now.low / before.high, now.high / before.low}, now,
                      before);
}

}  // namespace sluice
