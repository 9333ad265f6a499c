#pragma once

#include <span>
#include <vector>

#include "sluice/laboratory/measure/order_statistics.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/platform/export.h"

// Evaluates the samples of a race without reading a clock.
namespace sluice {

// Computes all figures of a timing from its samples, except calls_per_round and
// outcome.
SLUICE_API void Summarise(Timing& timing);

// The interval of RaceResult::over_winner: how many times as long as `other`
// one call of `timing` takes, over the rounds that both have. {0, 0} if one has
// no samples, {0, infinity} if one has fewer than three.
SLUICE_API Interval PairedRatio(const Timing& timing, const Timing& other);

// Whether such an interval shows a difference: it is above 1.002 or below 1 /
// 1.002.
SLUICE_API bool Apart(const Interval& ratio);

struct RaceVerdict {
  int winner = -1;
  bool tie = false;
  std::vector<Interval> over_winner;
};

// Winner, tie and over_winner as in RaceResult. The timings must be summarised.
SLUICE_API RaceVerdict Judge(std::span<const Timing* const> timings);

}  // namespace sluice
