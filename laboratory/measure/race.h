#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sluice/framework/inspect/run_profile.h"
#include "sluice/laboratory/measure/order_statistics.h"
#include "sluice/platform/export.h"

// Times calls so that the result holds on a machine that also does other work:
// contestants take turns, so that a disturbance affects all, and medians of
// rounds decide. Everything here runs on the calling thread with its
// ThreadCountGuard; all times are in seconds.
namespace sluice {

// A call to time.
struct Contestant {
  std::string name;
  std::function<void()> run;
  // Called untimed before each run, e.g. to reset inputs; may be empty.
  std::function<void()> before{};
  // Called after a sample was taken again: the runs of one of the last two
  // samples, of `calls` runs each, do not count. May be empty.
  std::function<void(int calls, bool latest)> drop{};
  // Predicted seconds of one run, or 0 if unknown. If the budget has less time
  // left, it is not run at all.
  double expected_seconds = 0;
};

struct RaceOptions {
  // Nothing starts that would not end within the budget, judging by earlier
  // runs. A first run is assumed to take as long as the fastest contestant so
  // far, or expected_seconds.
  double budget_seconds = 1;
  int min_rounds = 5;
  // The budget is at least this long until min_rounds are done.
  double least_seconds = 0;
  int max_rounds = 1001;
  // The race ends when half of the 95 % confidence interval of each median is
  // at most this share of the median, and each difference to the fastest is
  // either certain or smaller than this share.
  double interval = 0.01;
  // A contestant is dropped once its interval is above this multiple of the
  // interval of the fastest, and before the first round if its first runs took
  // more than four times that. 0 means never.
  double give_up_ratio = 0;
  // Called between runs; true ends the race and keeps what was measured.
  std::function<bool()> cancelled{};
};

struct RaceResult {
  std::vector<Timing> timings;  // in the order of the contestants
  // The smallest median, unless the rounds that both have show otherwise; -1 if
  // none could be measured. A contestant that threw cannot win.
  int winner = -1;
  // How many times as long as the winner each takes: the 99 % confidence
  // interval of the median, over rounds, of the ratio of both samples (below 8
  // rounds the whole range, widened by 1 %, below 5 by 10 %). {0, 0} if nothing
  // was measured, {0, infinity} below three rounds.
  std::vector<Interval> over_winner;
  // The interval of another contestant contains 1 or comes within 0.2 % of it.
  bool tie = false;
  // The largest relative change of a fixed piece of arithmetic during the race,
  // and whether it exceeds 5 %: the clock rate changed, or other programs used
  // the core. It affects no decision, since it is common to all.
  double drift = 0;
  bool drifted = false;
  bool budget_used_up = false;  // this ended or shortened the race
  bool cancelled = false;
  int rounds = 0;
  double seconds = 0;  // duration of the race
};

// Measures all contestants, always in the same order. Calls of less than about
// 20 us are timed several at once; contestants of
// similar speed get the same number of calls. Raises InvalidArgument for an
// empty list, a contestant without `run`, and invalid options (a budget,
// interval or number of rounds of 0 or less, or NaN).
SLUICE_API RaceResult Race(std::span<const Contestant> contestants,
                           const RaceOptions& options);

// Measures one contestant in the same way.
SLUICE_API Timing Measure(const Contestant& contestant,
                          const RaceOptions& options);

// Whether at least half of the rounds were disturbed: times are unreliable.
SLUICE_API bool IsDisturbed(const Timing& timing);

}  // namespace sluice
