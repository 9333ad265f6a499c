#include "sluice/laboratory/tuning/signature_tuner.h"

#include <vector>

#include "tests/laboratory/lab_ops.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Two kernels; the first one wins, and the other takes at least `low` times as
// long in every round.
RaceResult Raced(int rounds, int other_rounds, double low) {
  RaceResult race;
  race.timings.resize(2);
  race.timings[0].rounds = rounds;
  race.timings[1].rounds = other_rounds;
  for (Timing& timing : race.timings) {
    timing.outcome = RaceOutcome::kRaced;
  }
  race.winner = 0;
  race.over_winner = {{1, 1}, {low, 2 * low}};
  return race;
}

TEST(MayKeepTimes, OfFiveRoundsHoweverCloseTheKernelsAre) {
  EXPECT_TRUE(MayKeepTimes(Raced(5, 5, 1.001)));
  EXPECT_FALSE(MayKeepTimes(Raced(5, 4, 1.001)));
  EXPECT_FALSE(MayKeepTimes(Raced(4, 5, 1.001)));
}

TEST(MayKeepTimes, OfThreeRoundsOnlyWhereOneIsClearlyFaster) {
  EXPECT_TRUE(MayKeepTimes(Raced(3, 3, 1.3)));
  EXPECT_FALSE(MayKeepTimes(Raced(3, 3, 1.2)));
}

TEST(MayKeepTimes, OfFewerRoundsNever) {
  EXPECT_FALSE(MayKeepTimes(Raced(2, 2, 10)));
  EXPECT_FALSE(MayKeepTimes(Raced(1, 1, 10)));
  EXPECT_FALSE(MayKeepTimes(Raced(9, 0, 0)));
}

TEST(MayKeepTimes, OfOneKernelThatWasFarTooSlowForMore) {
  RaceResult race = Raced(9, 1, 7);
  race.timings[1].outcome = RaceOutcome::kDropped;
  EXPECT_TRUE(MayKeepTimes(race));
  race.timings[0].rounds = 2;
  EXPECT_FALSE(MayKeepTimes(race));
}

TEST(MayKeepTimes, OfAKernelThatHasNobodyToRaceAgainst) {
  RaceResult race;
  race.timings.resize(1);
  race.timings[0].outcome = RaceOutcome::kRaced;
  race.timings[0].rounds = 3;
  race.winner = 0;
  race.over_winner = {{1, 1}};
  EXPECT_TRUE(MayKeepTimes(race));
  race.timings[0].rounds = 2;
  EXPECT_FALSE(MayKeepTimes(race));
}

TEST(WaitedForCpus, WhereDisturbedRoundsAreFarAboveTheEstimate) {
  RaceResult race = Raced(9, 9, 7);
  race.timings[1].median = 1;
  const double low[] = {0.01, 0.01};
  const double near[] = {0.01, 0.2};
  EXPECT_FALSE(WaitedForCpus(race, low));
  race.timings[1].disturbed = 4;
  EXPECT_FALSE(WaitedForCpus(race, low));
  race.timings[1].disturbed = 5;
  EXPECT_TRUE(WaitedForCpus(race, low));
  EXPECT_FALSE(WaitedForCpus(race, near));
}

// Each call takes at least 20 ms, so that five rounds do not fit. In the race
// they take three times as long as in the comparison, so that five rounds take
// longer than that lets expect.
TEST(Tune, KeepsNoTimesOfAFewRounds) {
  UseLabOps();
  const UseVariants use({"sleepy", "drowsy"});
  LabProgram lab;
  lab.program.SetHints("test_lab: exclude variant=plain");
  Executor executor;
  const auto tune = [&](double budget) {
    return Tune(executor, lab.program, lab.feeds, lab.fetches, nullptr,
                {.budget_seconds = budget});
  };
  const TuneResult hurried = tune(0.25);
  EXPECT_EQ(hurried.left_out, 1);
  ASSERT_EQ(hurried.signatures.size(), 1u);
  EXPECT_EQ(hurried.signatures[0].winner, -1);
  EXPECT_THAT(ToString(hurried), AllOf(HasSubstr("0 signatures measured in "),
                                       HasSubstr(", 1 left out"),
                                       HasSubstr("0 stay, 1 not measured\n")));
  EXPECT_THAT(ToString(hurried, true),
              AnyOf(HasSubstr("the budget ended before five rounds of each "),
                    HasSubstr("no times are kept: kernels waited")));
  for (const auto& kernel : hurried.signatures[0].kernels) {
    EXPECT_EQ(kernel.timing.rounds, 0);
  }
  TuneResult whole = tune(10);
  // Times that other programs disturbed are not kept either.
  for (int again = 0; again < 20 && whole.disturbed > 0; ++again) {
    whole = tune(10);
  }
  EXPECT_EQ(whole.left_out, 0);
  ASSERT_EQ(whole.signatures.size(), 1u);
  EXPECT_GE(whole.signatures[0].winner, 0);
  EXPECT_THAT(ToString(whole), HasSubstr("1 signature measured in "));
}

}  // namespace
}  // namespace sluice::testing
