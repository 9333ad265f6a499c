#include "sluice/laboratory/measure/race.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <random>

#include "sluice/laboratory/measure/cpu_waits.h"
#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/measure/race_judge.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

// Shorter samples would measure the clock and its interrupts.
constexpr double kShortestSample = 20e-6;
// Contestants with times within this factor get the same number of calls.
constexpr double kSimilar = 2;
constexpr double kMaxCalls = 1 << 20;
constexpr int kMaxRounds = 100'000;
// First runs load code and touch memory, so only a large factor counts.
constexpr double kHopeless = 4;
constexpr int kSecondLooks = 4;
// Below this, the estimate is the best of several samples.
constexpr double kShortCall = 1e-3;
constexpr int kEstimates = 5;
constexpr double kLongerThanNoise = 20e-3;
// How often a round in which threads had to wait is repeated.
constexpr int kRetakes = 3;

struct Lane {
  const Contestant* contestant = nullptr;
  Timing timing;
  bool racing = false;
  // The shortest call before the first round, in seconds.
  std::optional<double> estimate{};
  // Whether threads waited for a CPU in the last sample, and in the sample of
  // the estimate.
  bool disturbed = false;
  bool estimate_disturbed = false;
  // Wall time of the last sample, including what is not timed.
  double wall = 0;
};

class RaceRun {
 public:
  RaceRun(std::span<const Contestant> contestants, const RaceOptions& options)
      : options_(options), lanes_(contestants.size()) {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i].contestant = &contestants[i];
    }
    begin_ = ClockSeconds();
  }

  RaceResult Run() {
    ReadDrift();
    FirstRuns();
    ChooseCalls();
    while (AnyRacing() && result_.rounds < options_.max_rounds) {
      RunRound();
      if (!AtCheckpoint()) continue;
      ReadDrift();
      const RaceVerdict verdict = Assess();
      Drop();
      if (AllSettled(verdict)) break;
    }
    ReadDrift();
    Finish();
    result_.seconds = ClockSeconds() - begin_;
    return std::move(result_);
  }

 private:
  // Returns false, and notes why, if another `seconds` may not start.
  bool MayStart(double seconds) {
    if (!result_.cancelled && options_.cancelled && options_.cancelled()) {
      result_.cancelled = true;
    }
    if (result_.cancelled) return false;
    const double allowed =
        result_.rounds < options_.min_rounds
            ? std::max(options_.budget_seconds, options_.least_seconds)
            : options_.budget_seconds;
    if (ClockSeconds() + seconds <= begin_ + allowed) return true;
    result_.budget_used_up = true;
    return false;
  }

  // Seconds of one of `calls` calls; nothing if it threw.
  std::optional<double> Sample(Lane& lane, int calls) {
    const double begin = ClockSeconds();
    const double cost = MeasureClockTraits().cost;
    double timed = 0;
    try {
      if (lane.contestant->before) {
        for (int call = 0; call < calls; ++call) {
          lane.contestant->before();
          const double start = ClockSeconds();
          lane.contestant->run();
          timed += std::max(ClockSeconds() - start - cost, 0.0);
        }
      } else {
        const double start = ClockSeconds();
        for (int call = 0; call < calls; ++call) {
          lane.contestant->run();
        }
        timed = std::max(ClockSeconds() - start - cost, 0.0);
      }
    } catch (const std::exception& error) {
      Leave(lane, RaceOutcome::kThrew);
      lane.timing.error = error.what();
      return std::nullopt;
    } catch (...) {
      Leave(lane, RaceOutcome::kThrew);
      lane.timing.error = "an exception that is no std::exception";
      return std::nullopt;
    }
    lane.wall = ClockSeconds() - begin;
    lane.disturbed = waits_.Disturbed(lane.wall);
    return timed / calls;
  }

  void TakeEstimate(Lane& lane, double seconds) {
    if (lane.estimate && *lane.estimate <= seconds) return;
    lane.estimate = seconds;
    lane.estimate_disturbed = lane.disturbed;
  }

  static void Leave(Lane& lane, RaceOutcome outcome) {
    lane.racing = false;
    lane.timing.outcome = outcome;
  }

  void FirstRuns() {
    double fastest = 0;
    for (Lane& lane : lanes_) {
      const double expected = lane.contestant->expected_seconds;
      if (!MayStart(expected > 0 ? expected : fastest)) continue;
      lane.racing = true;
      lane.timing.outcome = RaceOutcome::kRaced;
      const std::optional<double> first = Sample(lane, 1);
      if (!first) continue;
      TakeEstimate(lane, *first);
      // The first call may have included loading and preparation.
      if (lane.racing && MayRunAgain(lane)) SampleLongEnough(lane);
      if (fastest == 0 || *lane.estimate < fastest) fastest = *lane.estimate;
    }
    EstimateInTurns();
    if (options_.give_up_ratio <= 0) return;
    for (const Lane& lane : lanes_) {
      if (lane.estimate) fastest = std::min(fastest, *lane.estimate);
    }
    const double slowest = kHopeless * options_.give_up_ratio * fastest;
    for (Lane& lane : lanes_) {
      if (lane.racing && StaysAbove(slowest, lane)) {
        Leave(lane, RaceOutcome::kDropped);
      }
    }
  }

  // Returns whether the lane still takes longer than `seconds` when it is
  // measured again. Other work may have delayed it, or a thread that it waited
  // for, by some milliseconds.
  bool StaysAbove(double seconds, Lane& lane) {
    for (int again = 0; again < kSecondLooks; ++again) {
      const double estimate = *lane.estimate;
      const bool certain =
          estimate >= kLongerThanNoise && !lane.estimate_disturbed;
      if (estimate <= seconds || certain) break;
      if (!MayStart(lane.wall)) break;
      const std::optional<double> sample = Sample(lane, 1);
      if (!sample) return false;
      TakeEstimate(lane, *sample);
    }
    return *lane.estimate > seconds;
  }

  // Returns whether the lane is so short that first runs leave most of the
  // budget to the rounds.
  bool MayRunAgain(const Lane& lane) {
    const double small =
        options_.budget_seconds / (8 * static_cast<double>(lanes_.size()));
    return lane.wall <= small && MayStart(lane.wall);
  }

  // Increases the number of calls in a sample until it takes long enough.
  void SampleLongEnough(Lane& lane) {
    int& calls = lane.timing.calls_per_round;
    while (lane.racing) {
      const std::optional<double> seconds = Sample(lane, calls);
      if (!seconds) return;
      TakeEstimate(lane, *seconds);
      if (*seconds * calls >= kShortestSample || calls >= kMaxCalls ||
          !MayStart(2 * lane.wall)) {
        return;
      }
      calls *= 2;
    }
  }

  // Takes the best of several samples of short contestants. They take turns, so
  // that a change of the clock rate affects all alike.
  void EstimateInTurns() {
    for (int turn = 0; turn < kEstimates; ++turn) {
      for (Lane& lane : lanes_) {
        if (!lane.racing || *lane.estimate >= kShortCall) continue;
        if (!MayRunAgain(lane)) continue;
        SampleLongEnough(lane);
      }
    }
  }

  // A group of similar speed has no gap of kSimilar; its fastest decides.
  void ChooseCalls() {
    std::vector<Lane*> sorted;
    for (Lane& lane : lanes_) {
      if (lane.racing) sorted.push_back(&lane);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Lane* a, const Lane* b) {
                       return *a->estimate < *b->estimate;
                     });
    const double wanted =
        std::max(kShortestSample, 1000 * MeasureClockTraits().resolution);
    double last = 0;
    int calls = 1;
    for (Lane* lane : sorted) {
      const double estimate = *lane->estimate;
      if (last == 0 || estimate > kSimilar * last) {
        const double needed = wanted / std::max(estimate, 1e-10);
        calls = static_cast<int>(std::clamp(std::ceil(needed), 1.0, kMaxCalls));
      }
      last = estimate;
      lane->timing.calls_per_round = calls;
      lane->wall = std::max(lane->wall, estimate * calls);
    }
  }

  bool AnyRacing() const {
    return std::any_of(lanes_.begin(), lanes_.end(),
                       [](const Lane& lane) { return lane.racing; });
  }

  void RunRound() {
    std::vector<size_t> order(lanes_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random_() % i]);
    }
    for (const size_t i : order) {
      Lane& lane = lanes_[i];
      if (!lane.racing) continue;
      if (!MayStart(lane.wall)) {
        lane.racing = false;
        continue;
      }
      const auto seconds = UndisturbedSample(lane);
      if (!seconds) continue;
      lane.timing.samples.push_back(*seconds);
      if (lane.disturbed) ++lane.timing.disturbed;
    }
    ++result_.rounds;
  }

  std::optional<double> UndisturbedSample(Lane& lane) {
    std::optional<double> shortest;
    bool disturbed = true;
    for (int take = 0; disturbed && take <= kRetakes; ++take) {
      if (take > 0 && !MayStart(lane.wall)) break;
      const auto seconds = Sample(lane, lane.timing.calls_per_round);
      if (!seconds) return std::nullopt;
      disturbed = lane.disturbed;
      const bool better = !disturbed || !shortest || *seconds < *shortest;
      if (take > 0 && lane.contestant->drop) {
        lane.contestant->drop(lane.timing.calls_per_round, !better);
      }
      if (better) shortest = seconds;
      if (!lane.racing) break;
    }
    lane.disturbed = disturbed;
    return shortest;
  }

  // Frequent checks would sooner or later find a difference by chance.
  bool AtCheckpoint() {
    const int rounds = result_.rounds;
    if (rounds < std::max(options_.min_rounds, next_check_)) return false;
    next_check_ = rounds + std::max(1, rounds / 4);
    return true;
  }

  RaceVerdict Assess() {
    std::vector<Timing*> timings;
    for (Lane& lane : lanes_) {
      Summarise(lane.timing);
      timings.push_back(&lane.timing);
    }
    return Judge(timings);
  }

  bool Steady(const Timing& timing) const {
    return timing.rounds >= options_.min_rounds &&
           timing.high - timing.low <= 2 * options_.interval * timing.median;
  }

  void Drop() {
    if (options_.give_up_ratio <= 0) return;
    double fastest = 0;
    for (const Lane& lane : lanes_) {
      const bool counts =
          lane.timing.rounds > 0 && lane.timing.outcome != RaceOutcome::kThrew;
      if (counts && (fastest == 0 || lane.timing.high < fastest)) {
        fastest = lane.timing.high;
      }
    }
    for (Lane& lane : lanes_) {
      if (lane.racing && lane.timing.low > options_.give_up_ratio * fastest) {
        Leave(lane, RaceOutcome::kDropped);
      }
    }
  }

  bool AllSettled(const RaceVerdict& verdict) const {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      if (!lanes_[i].racing) continue;
      if (!Steady(lanes_[i].timing)) return false;
      const Interval& ratio = verdict.over_winner[i];
      const bool narrow = ratio.high - ratio.low <= 2 * options_.interval;
      if (!narrow && !Apart(ratio)) return false;
    }
    return true;
  }

  void ReadDrift() {
    const double seconds = CalibrationSeconds();
    if (calibration_ == 0) calibration_ = seconds;
    const double change = std::abs(seconds / calibration_ - 1);
    result_.drift = std::max(result_.drift, change);
  }

  void Finish() {
    for (Lane& lane : lanes_) {
      const bool threw = lane.timing.outcome == RaceOutcome::kThrew;
      if (lane.timing.samples.empty() && lane.estimate && !threw) {
        lane.timing.samples.push_back(*lane.estimate);
        lane.timing.disturbed = lane.estimate_disturbed ? 1 : 0;
        lane.timing.calls_per_round = 1;
      }
    }
    const RaceVerdict verdict = Assess();
    result_.winner = verdict.winner;
    result_.over_winner = verdict.over_winner;
    result_.tie = verdict.tie;
    result_.drifted = result_.drift > 0.05;
    for (Lane& lane : lanes_) {
      result_.timings.push_back(std::move(lane.timing));
    }
  }

  const RaceOptions& options_;
  std::vector<Lane> lanes_;
  CpuWaits waits_;
  std::mt19937_64 random_{20'250'101};
  RaceResult result_;
  double begin_ = 0;
  double calibration_ = 0;
  int next_check_ = 0;
};

void CheckContestants(std::span<const Contestant> contestants) {
  SLUICE_ENFORCE(!contestants.empty(), ErrorCode::kInvalidArgument,
                 "race.contestants",
                 "a race needs at least one contestant, got none");
  for (const Contestant& contestant : contestants) {
    SLUICE_ENFORCE(contestant.run, ErrorCode::kInvalidArgument, "race.run",
                   "race: contestant '{}' has no function to run",
                   contestant.name);
  }
}

void CheckOptions(const RaceOptions& options) {
  SLUICE_ENFORCE(
      options.budget_seconds > 0 && std::isfinite(options.budget_seconds),
      ErrorCode::kInvalidArgument, "race.budget",
      "race: budget_seconds is {}, expected a number above 0",
      options.budget_seconds);
  SLUICE_ENFORCE(
      options.min_rounds >= 1 && options.max_rounds >= options.min_rounds &&
          options.max_rounds <= kMaxRounds,
      ErrorCode::kInvalidArgument, "race.rounds",
      "race: min_rounds is {} and max_rounds {}, expected 1 <= min_rounds <= "
      "max_rounds <= {}",
      options.min_rounds, options.max_rounds, kMaxRounds);
  SLUICE_ENFORCE(
      options.interval > 0, ErrorCode::kInvalidArgument, "race.interval",
      "race: interval is {}, expected a share above 0", options.interval);
  SLUICE_ENFORCE(options.give_up_ratio == 0 || options.give_up_ratio >= 1,
                 ErrorCode::kInvalidArgument, "race.give_up_ratio",
                 "race: give_up_ratio is {}, expected 0 or at least 1",
                 options.give_up_ratio);
}

}  // namespace

RaceResult Race(std::span<const Contestant> contestants,
                const RaceOptions& options) {
  CheckContestants(contestants);
  CheckOptions(options);
  return RaceRun(contestants, options).Run();
}

Timing Measure(const Contestant& contestant, const RaceOptions& options) {
  return Race(std::span(&contestant, 1), options).timings[0];
}

bool IsDisturbed(const Timing& timing) {
  return timing.rounds > 0 && 2 * timing.disturbed >= timing.rounds;
}

}  // namespace sluice
