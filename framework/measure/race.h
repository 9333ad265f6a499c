#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sluice/framework/measure/order_statistics.h"
#include "sluice/platform/export.h"

// How long calls take, measured so that the answer holds on a machine that
// does other things, too: contestants take turns, so that what disturbs one
// disturbs all, and medians of rounds decide. Everything here runs on the
// calling thread and in its ThreadCountGuard; all times are in seconds.
namespace sluice::framework {

// What is timed.
struct Contestant {
  std::string name;
  std::function<void()> run;
  // Called before each run and not timed, e.g. to reset inputs; may be empty.
  std::function<void()> before{};
  // What one run will take, or 0 where nothing is known. It is not run at all
  // where the budget has less time left.
  double expected_seconds = 0;
};

struct RaceOptions {
  // Nothing is started that would not end within it, as far as earlier runs
  // tell; a first run is assumed to take as long as the fastest contestant
  // so far, or expected_seconds.
  double budget_seconds = 1;
  int min_rounds = 5;
  int max_rounds = 1001;
  // The race ends when half of the 95 % confidence interval of each median is
  // at most this share of the median, and each difference to the fastest is
  // either certain or smaller than this share.
  double interval = 0.01;
  // Caches are emptied before each run (see CacheEvictor).
  bool cold = false;
  // A contestant is dropped once its interval lies above this multiple of the
  // interval of the fastest, and before the first round if its first runs
  // took more than four times that. 0: never.
  double give_up_ratio = 0;
  // Asked between runs; true ends the race with what was measured.
  std::function<bool()> cancelled{};
  // A contestant of which a single run took longer leaves the race with what
  // was measured.
  double hang_seconds = std::numeric_limits<double>::infinity();
};

// How a contestant's part ended.
enum class RaceOutcome : unsigned char {
  kRaced,    // it took part to the end, or as long as the budget allowed
  kDropped,  // too slow to go on with, see give_up_ratio
  kHung,     // one run took longer than hang_seconds
  kThrew,    // see error
  kNotRun,   // no time left, or cancelled before its turn
};

struct Timing {
  double best = 0;
  double median = 0;
  double mean = 0;
  // A confidence interval of the median by order statistics: 95 %, with fewer
  // than 6 rounds the whole range.
  double low = 0;
  double high = 0;
  double spread = 0;  // the interquartile range over the median
  int rounds = 0;     // that have a sample
  int calls_per_round = 1;
  // Of these rounds, how many are longer because threads had to wait for a CPU
  // that other programs had, also when they were taken again.
  int disturbed = 0;
  // The interval is as small as was asked for.
  bool steady = false;
  RaceOutcome outcome = RaceOutcome::kNotRun;
  std::string error;  // what it threw
  // Seconds of one call, by round; at most max_rounds. Where no round was
  // begun it is the shortest of the first runs.
  std::vector<double> samples;
};

struct RaceResult {
  std::vector<Timing> timings;  // in the order of the contestants
  // The smallest median, unless the rounds that they share tell otherwise; -1
  // where none could be measured. What threw cannot win.
  int winner = -1;
  // How many times as long as the winner each takes: the 99 % confidence
  // interval of the median over the rounds of the ratio of both samples (below
  // 8 rounds the whole range, widened by 1 %, below 5 by 10 %). {0, 0} where
  // nothing was measured, {0, infinity} below three rounds.
  std::vector<Interval> over_winner;
  // Some other contestant's interval contains 1 or comes closer to it than
  // 0.2 %.
  bool tie = false;
  // The largest relative change of a fixed piece of arithmetic during the race,
  // and whether it is more than 5 %: the clock rate changed, or other programs
  // took part of the core. It changes no decision, since it is common to all.
  double drift = 0;
  bool drifted = false;
  bool budget_used_up = false;  // the race ended, or was cut, for that reason
  bool cancelled = false;
  int rounds = 0;
  double seconds = 0;  // that the race took
};

// Measures all; the same contestants always run in the same order. Calls
// of less than some 20 us are timed several at once, except with cold caches;
// contestants of similar speed as many at once. Raises InvalidArgument
// for an empty list, a contestant without `run`, and for options without sense
// (a budget, interval or number of rounds of 0 or less, NaN).
SLUICE_API RaceResult Race(std::span<const Contestant> contestants,
                           const RaceOptions& options);

// Measures one, in the same way.
SLUICE_API Timing Measure(const Contestant& contestant,
                          const RaceOptions& options);

// Whether half of the rounds or more were disturbed: the times say little.
SLUICE_API bool IsDisturbed(const Timing& timing);

// Whether two timings differ by more than noise: the intervals of both medians
// do not overlap. For timings that were not taken in one race.
SLUICE_API bool Differ(const Timing& a, const Timing& b);

}  // namespace sluice::framework
