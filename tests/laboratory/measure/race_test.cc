#include "sluice/laboratory/measure/race.h"

#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/laboratory/measure/measure_clock.h"

namespace sluice::testing {
namespace {

// Takes this long on any machine.
Contestant Spinning(const char* name, double seconds) {
  return {.name = name, .run = [seconds] {
            const double end = ClockSeconds() + seconds;
            while (ClockSeconds() < end) {
            }
          }};
}

Contestant Sleeping(const char* name, double seconds) {
  return {.name = name, .run = [seconds] {
            std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
          }};
}

RaceResult RaceOf(const std::vector<Contestant>& contestants,
                  const RaceOptions& options = {}) {
  return Race(contestants, options);
}

TEST(Race, TheFasterOfTwoWins) {
  RaceResult result;
  // On a machine so busy that many calls were interrupted, nothing can be said.
  int attempts = 10;
  do {
    result = RaceOf({Spinning("slow", 150e-6), Spinning("fast", 100e-6)},
                    {.budget_seconds = 10});
  } while (result.over_winner[0].low <= 1.2 && --attempts > 0);
  EXPECT_EQ(result.winner, 1);
  EXPECT_FALSE(result.tie);
  EXPECT_GT(result.over_winner[0].low, 1.2);
  EXPECT_LT(result.over_winner[0].low, 1.55);
  EXPECT_GE(result.timings[1].best, 99e-6);
  EXPECT_LT(result.timings[1].median, 150e-6);
  EXPECT_GE(result.timings[0].median, 149e-6);
  // There are more if reading the clock is slow, as under QEMU.
  EXPECT_LE(result.timings[0].calls_per_round, 2);
  EXPECT_FALSE(result.budget_used_up);
}

TEST(Race, GoesOnForTheLeastRoundsAndSeconds) {
  const std::vector<Contestant> one = {Sleeping("one", 1e-3)};
  const auto rounds = [&](double least_seconds) {
    RaceOptions options;
    options.budget_seconds = 1e-3;
    options.min_rounds = options.max_rounds = 12;
    options.least_seconds = least_seconds;
    return RaceOf(one, options).rounds;
  };
  EXPECT_EQ(rounds(10), 12);
  EXPECT_LT(rounds(3e-3), 5);
}

TEST(Race, TheSameTwiceIsATie) {
  const RaceResult result =
      RaceOf({Spinning("a", 100e-6), Spinning("b", 100e-6)});
  EXPECT_NEAR(result.over_winner[1 - static_cast<size_t>(result.winner)].high,
              1, 0.02);
}

TEST(Race, StopsWhenIntervalsAreSmall) {
  const RaceResult result =
      RaceOf({Spinning("a", 100e-6), Spinning("b", 150e-6)}, {.interval = 0.2});
  EXPECT_LT(result.rounds, 101);
}

TEST(Race, GoesOnToTheLastRoundWhereTheyStayLarge) {
  int calls = 0;
  Contestant erratic = Spinning("erratic", 0);
  erratic.run = [&calls] {
    const double end = ClockSeconds() + (++calls % 2 == 0 ? 50e-6 : 200e-6);
    while (ClockSeconds() < end) {
    }
  };
  const RaceResult result =
      RaceOf({erratic}, {.budget_seconds = 60, .max_rounds = 23});
  EXPECT_EQ(result.rounds, 23);
  EXPECT_EQ(result.timings[0].rounds, 23);
}

TEST(Race, FastContestantsAreTimedManyCallsAtOnceAndAlike) {
  const RaceResult result =
      RaceOf({Spinning("a", 1e-6), Spinning("b", 1.03e-6)});
  EXPECT_GT(result.timings[0].calls_per_round, 1);
  EXPECT_EQ(result.timings[0].calls_per_round,
            result.timings[1].calls_per_round);
  EXPECT_GT(result.timings[0].median * result.timings[0].calls_per_round, 5e-6);
}

TEST(Race, ContestantsTakeTurnsInEveryRound) {
  std::string order;
  std::vector<Contestant> contestants;
  for (const char letter : {'a', 'b', 'c'}) {
    Contestant contestant = Spinning("", 2e-3);
    contestant.run = [&order, letter, spin = contestant.run] {
      order += letter;
      spin();
    };
    contestants.push_back(contestant);
  }
  const RaceResult result = RaceOf(
      contestants, {.budget_seconds = 60, .min_rounds = 20, .max_rounds = 20});
  for (const Timing& timing : result.timings) {
    EXPECT_EQ(timing.rounds, 20);
  }
  // A round that waited for a CPU is repeated at once.
  order.erase(std::unique(order.begin(), order.end()), order.end());
  const std::string rounds = order.substr(3);  // after the first runs
  // At most the last two of a round and the first two of the next are
  // consecutive without the third contestant.
  int in_order = 0;
  for (size_t i = 0; i + 5 <= rounds.size(); ++i) {
    for (const char letter : {'a', 'b', 'c'}) {
      EXPECT_NE(rounds.substr(i, 5).find(letter), std::string::npos) << rounds;
    }
    in_order += rounds.substr(i, 4) == "abca" ? 1 : 0;
  }
  EXPECT_LT(in_order, 15);
}

TEST(Race, KeepsToTheBudgetWithLongRuns) {
  std::vector<Contestant> contestants;
  for (int i = 0; i < 5; ++i) {
    contestants.push_back(Sleeping("slow", 0.02 + 0.005 * i));
  }
  const double begin = ClockSeconds();
  const RaceResult result = RaceOf(contestants, {.budget_seconds = 0.5});
  const double took = ClockSeconds() - begin;
  EXPECT_LT(took, 0.55);
  EXPECT_GT(took, 0.4);
  EXPECT_TRUE(result.budget_used_up);
  EXPECT_EQ(result.winner, 0);
  EXPECT_GE(result.timings[4].rounds, 1);
}

TEST(Race, AContestantThatDoesNotFitLeavesTheBudgetToTheOthers) {
  const RaceResult result =
      RaceOf({Sleeping("slow", 0.15), Spinning("fast", 100e-6)},
             {.budget_seconds = 0.4});
  EXPECT_LT(result.seconds, 0.44);
  EXPECT_EQ(result.winner, 1);
  EXPECT_GE(result.timings[1].rounds, 5);
  EXPECT_GE(result.timings[0].rounds, 1);
}

TEST(Race, WhatIsExpectedToTakeTooLongIsNotRun) {
  bool ran = false;
  Contestant endless{
      .name = "endless", .run = [&ran] { ran = true; }, .expected_seconds = 29};
  const RaceResult result = RaceOf({Spinning("fast", 100e-6), endless});
  EXPECT_FALSE(ran);
  EXPECT_EQ(result.timings[1].rounds, 0);
  EXPECT_EQ(result.timings[1].outcome, RaceOutcome::kNotRun);
  EXPECT_EQ(result.winner, 0);
  EXPECT_TRUE(result.budget_used_up);
}

TEST(Race, ALosingContestantIsDroppedEarly) {
  const RaceResult result =
      RaceOf({Spinning("fast", 100e-6), Spinning("slow", 150e-6)},
             {.min_rounds = 5, .interval = 1e-6, .give_up_ratio = 1.2});
  EXPECT_EQ(result.timings[1].outcome, RaceOutcome::kDropped);
  EXPECT_LT(result.timings[1].rounds, 50);
  EXPECT_GE(result.timings[1].rounds, 5);
  EXPECT_EQ(result.timings[0].outcome, RaceOutcome::kRaced);
  EXPECT_EQ(result.winner, 0);
}

TEST(Race, AHopelessContestantIsDroppedBeforeTheFirstRound) {
  int runs = 0;
  Contestant hopeless = Spinning("hopeless", 2e-3);
  hopeless.run = [&runs, spin = hopeless.run] {
    ++runs;
    spin();
  };
  const RaceResult result =
      RaceOf({hopeless, Spinning("fast", 100e-6)}, {.give_up_ratio = 1.5});
  EXPECT_EQ(result.timings[0].outcome, RaceOutcome::kDropped);
  EXPECT_EQ(runs, 6);  // four of them to be sure
  EXPECT_EQ(result.timings[0].rounds, 1);
  EXPECT_NEAR(result.timings[0].median, 2e-3, 1e-3);
}

// As if other work had delayed the first runs of a kernel.
TEST(Race, AContestantThatWasSlowAtFirstIsNotDropped) {
  auto calls = std::make_shared<int>(0);
  Contestant late{.name = "late", .run = [calls] {
                    const bool disturbed = (*calls)++ < 3;
                    Sleeping("", disturbed ? 50e-3 : 1e-3).run();
                  }};
  // Far enough apart for a busy machine, on which a sleep ends late.
  const RaceResult result =
      RaceOf({late, Sleeping("other", 10e-3)}, {.give_up_ratio = 1.3});
  EXPECT_EQ(result.timings[0].outcome, RaceOutcome::kRaced);
  EXPECT_EQ(result.winner, 0);
}

TEST(Race, AThrowingContestantKeepsItsMessageAndOthersGoOn) {
  int calls = 0;
  const RaceResult result = RaceOf(
      {{.name = "at once", .run = [] { throw std::runtime_error("no bits"); }},
       {.name = "later",
        .run =
            [&calls] {
              if (++calls == 12) throw 7;  // NOLINT(hicpp-exception-baseclass)
              std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }},
       Spinning("good", 5e-3)},
      {.budget_seconds = 60, .min_rounds = 20, .max_rounds = 100});
  EXPECT_EQ(result.timings[0].outcome, RaceOutcome::kThrew);
  EXPECT_EQ(result.timings[0].error, "no bits");
  EXPECT_EQ(result.timings[0].rounds, 0);
  EXPECT_EQ(result.timings[1].outcome, RaceOutcome::kThrew);
  EXPECT_NE(result.timings[1].error, "");
  EXPECT_EQ(result.winner, 2);
  EXPECT_GE(result.timings[2].rounds, 20);
}

TEST(Race, WhenAllThrowNobodyWins) {
  const RaceResult result =
      RaceOf({{.name = "a", .run = [] { throw std::runtime_error("x"); }}});
  EXPECT_EQ(result.winner, -1);
  EXPECT_FALSE(result.tie);
}

TEST(Race, CancellingKeepsWhatWasMeasured) {
  int asked = 0;
  const RaceResult result = RaceOf(
      {Sleeping("a", 4e-3), Sleeping("b", 16e-3)},
      {.interval = 1e-9, .cancelled = [&asked] { return ++asked > 20; }});
  EXPECT_TRUE(result.cancelled);
  EXPECT_FALSE(result.budget_used_up);
  EXPECT_EQ(asked, 21);
  EXPECT_GE(result.timings[0].rounds, 3);
  EXPECT_LE(result.timings[0].rounds, 10);
  EXPECT_EQ(result.winner, 0);
}

TEST(Race, CancelledBeforeTheFirstRunMeasuresNothing) {
  const RaceResult result =
      RaceOf({Spinning("a", 1e-3)}, {.cancelled = [] { return true; }});
  EXPECT_EQ(result.winner, -1);
  EXPECT_EQ(result.timings[0].outcome, RaceOutcome::kNotRun);
}

TEST(Race, WhatIsDoneBeforeARunIsNotTimed) {
  bool ready = false;
  int unready = 0;
  Contestant contestant = Spinning("a", 200e-6);
  contestant.before = [&ready] {
    ready = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  contestant.run = [&, spin = contestant.run] {
    unready += ready ? 0 : 1;
    ready = false;
    spin();
  };
  const Timing timing = Measure(contestant, {.max_rounds = 21});
  EXPECT_EQ(unready, 0);
  EXPECT_NEAR(timing.median, 200e-6, 50e-6);
}

TEST(Race, OptionsWithoutSenseAreRefused) {
  const std::vector<Contestant> one = {Spinning("a", 1e-6)};
  for (const double budget : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    ExpectError(ErrorCode::kInvalidArgument, "race.budget", {"budget_seconds"},
                [&] { RaceOf(one, {.budget_seconds = budget}); });
  }
  ExpectError(ErrorCode::kInvalidArgument, "race.rounds", {"min_rounds is 0"},
              [&] { RaceOf(one, {.min_rounds = 0}); });
  ExpectError(ErrorCode::kInvalidArgument, "race.rounds", {"max_rounds 3"},
              [&] { RaceOf(one, {.max_rounds = 3}); });
  ExpectError(ErrorCode::kInvalidArgument, "race.interval", {"interval is 0"},
              [&] { RaceOf(one, {.interval = 0}); });
  ExpectError(ErrorCode::kInvalidArgument, "race.give_up_ratio", {"0.5"},
              [&] { RaceOf(one, {.give_up_ratio = 0.5}); });
  ExpectError(ErrorCode::kInvalidArgument, "race.contestants", {"none"},
              [&] { RaceOf({}); });
  ExpectError(ErrorCode::kInvalidArgument, "race.run", {"'nothing'"},
              [&] { RaceOf({{.name = "nothing", .run = {}}}); });
}

TEST(MeasureClock, TakesSmallSteps) {
  const auto& traits = MeasureClockTraits();
  EXPECT_GT(traits.resolution, 0);
  EXPECT_LT(traits.resolution, 1e-5);
  EXPECT_LE(traits.cost, traits.resolution + 1e-5);
}

}  // namespace
}  // namespace sluice::testing
