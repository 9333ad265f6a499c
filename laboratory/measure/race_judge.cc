#include "sluice/laboratory/measure/race_judge.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sluice {
namespace {

constexpr double kTimingConfidence = 0.95;
// Higher than 95 %, since it is checked repeatedly, for each contestant.
constexpr double kPairConfidence = 0.99;
// With fewer rounds, even the whole range has less confidence than that.
constexpr size_t kEnoughRounds = 8;
constexpr double kWiden = 1.01;
constexpr size_t kFewRounds = 5;
// Fewer rounds show nothing: other programs may have disturbed all of one.
constexpr size_t kFewestRounds = 3;
constexpr double kWidenFew = 1.1;
// Smaller differences come from the placement of code and data in memory.
constexpr double kLeastDifference = 1.002;

bool CanWin(const Timing& timing) {
  return timing.rounds > 0 && timing.outcome != RaceOutcome::kThrew;
}

}  // namespace

void Summarise(Timing& timing) {
  std::vector<double> sorted = timing.samples;
  std::sort(sorted.begin(), sorted.end());
  timing.rounds = static_cast<int>(sorted.size());
  if (sorted.empty()) return;
  timing.best = sorted.front();
  timing.median = SortedMedian(sorted);
  const Interval interval = MedianInterval(sorted, kTimingConfidence);
  timing.low = interval.low;
  timing.high = interval.high;
  const double range =
      SortedQuantile(sorted, 0.75) - SortedQuantile(sorted, 0.25);
  timing.spread = timing.median > 0 ? range / timing.median : 0;
}

Interval PairedRatio(const Timing& timing, const Timing& other) {
  const size_t rounds = std::min(timing.samples.size(), other.samples.size());
  if (rounds > 0 && rounds < kFewestRounds) {
    return {0, std::numeric_limits<double>::infinity()};
  }
  std::vector<double> ratios(rounds);
  for (size_t i = 0; i < rounds; ++i) {
    // A sample below the resolution of the clock is 0.
    ratios[i] =
        std::max(timing.samples[i], 1e-12) / std::max(other.samples[i], 1e-12);
  }
  std::sort(ratios.begin(), ratios.end());
  Interval interval = MedianInterval(ratios, kPairConfidence);
  if (rounds < kEnoughRounds) {
    const double factor = rounds < kFewRounds ? kWidenFew : kWiden;
    interval.low /= factor;
    interval.high *= factor;
  }
  return interval;
}

bool Apart(const Interval& ratio) {
  return ratio.low > kLeastDifference || ratio.high < 1 / kLeastDifference;
}

RaceVerdict Judge(std::span<const Timing* const> timings) {
  RaceVerdict verdict;
  verdict.over_winner.resize(timings.size());
  const Timing* best = nullptr;
  const auto take = [&](size_t i) {
    verdict.winner = static_cast<int>(i);
    best = timings[i];
  };
  for (size_t i = 0; i < timings.size(); ++i) {
    if (!CanWin(*timings[i])) continue;
    if (best == nullptr || timings[i]->median < best->median) take(i);
  }
  if (best == nullptr) return verdict;
  // Noise can mislead medians of all rounds; shared rounds show it.
  for (size_t i = 0; i < timings.size(); ++i) {
    if (CanWin(*timings[i]) && timings[i] != best &&
        PairedRatio(*timings[i], *best).high < 1) {
      take(i);
    }
  }
  for (size_t i = 0; i < timings.size(); ++i) {
    if (timings[i] == best) {
      verdict.over_winner[i] = {1, 1};
      continue;
    }
    const Interval ratio = PairedRatio(*timings[i], *best);
    verdict.over_winner[i] = ratio;
    const bool dropped = timings[i]->outcome == RaceOutcome::kDropped;
    if (CanWin(*timings[i]) && !dropped && !Apart(ratio)) verdict.tie = true;
  }
  return verdict;
}

}  // namespace sluice
