#include "sluice/laboratory/measure/race_judge.h"

#include <random>

#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

Timing Of(std::vector<double> samples) {
  Timing timing;
  timing.samples = std::move(samples);
  timing.outcome = RaceOutcome::kRaced;
  Summarise(timing);
  return timing;
}

RaceVerdict JudgeAll(const std::vector<Timing>& timings) {
  std::vector<const Timing*> pointers;
  for (const Timing& timing : timings) {
    pointers.push_back(&timing);
  }
  return Judge(pointers);
}

// Rounds that a busy machine slows down for all contestants alike.
std::vector<double> NoisyRounds(int count) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> factor(1, 2);
  std::vector<double> rounds;
  for (int i = 0; i < count; ++i) {
    rounds.push_back(factor(random));
  }
  return rounds;
}

std::vector<double> Times(std::vector<double> values, double factor) {
  for (double& value : values) {
    value *= factor;
  }
  return values;
}

TEST(Summarise, FiguresOfFiveSamples) {
  const Timing timing = Of({5, 1, 2, 3, 100});
  EXPECT_EQ(timing.rounds, 5);
  EXPECT_EQ(timing.best, 1);
  EXPECT_EQ(timing.median, 3);
  EXPECT_EQ(timing.low, 1);
  EXPECT_EQ(timing.high, 100);
  EXPECT_EQ(timing.spread, 1);
}

TEST(Summarise, NoSamplesHaveNoRounds) {
  EXPECT_EQ(Of({}).rounds, 0);
}

TEST(Judge, NoiseThatRoundsShareHidesNoDifference) {
  const auto rounds = NoisyRounds(31);
  const std::vector<Timing> timings = {Of(Times(rounds, 1.01)), Of(rounds)};
  ASSERT_LT(timings[0].low, timings[1].high);  // alone they tell nothing
  const RaceVerdict verdict = JudgeAll(timings);
  EXPECT_EQ(verdict.winner, 1);
  EXPECT_FALSE(verdict.tie);
  EXPECT_NEAR(verdict.over_winner[0].low, 1.01, 1e-9);
  EXPECT_NEAR(verdict.over_winner[0].high, 1.01, 1e-9);
  EXPECT_EQ(verdict.over_winner[1].low, 1);
}

TEST(Judge, ADifferenceThatChangesItsSignIsATie) {
  std::vector<double> first = NoisyRounds(31);
  std::vector<double> second = first;
  for (size_t i = 0; i < second.size(); ++i) {
    second[i] *= i % 2 == 0 ? 1.05 : 0.96;
  }
  const RaceVerdict verdict = JudgeAll({Of(first), Of(second)});
  EXPECT_TRUE(verdict.tie);
}

// The first has the smaller median, because it missed the bad rounds at the
// end.
TEST(Judge, SharedRoundsDecideBeforeMedians) {
  std::vector<double> first(20, 1.02);
  std::vector<double> second(20, 1.0);
  second.insert(second.end(), 30, 3.0);
  const RaceVerdict verdict = JudgeAll({Of(first), Of(second)});
  EXPECT_EQ(verdict.winner, 1);
  EXPECT_FALSE(verdict.tie);
}

TEST(Judge, AContestantThatThrewCannotWin) {
  std::vector<Timing> timings = {Of({2, 2, 2, 2, 2}), Of({1, 1, 1, 1, 1})};
  timings[1].outcome = RaceOutcome::kThrew;
  EXPECT_EQ(JudgeAll(timings).winner, 0);
  EXPECT_FALSE(JudgeAll(timings).tie);
}

TEST(Judge, WithoutSamplesThereIsNoWinner) {
  const RaceVerdict verdict = JudgeAll({Of({}), Of({})});
  EXPECT_EQ(verdict.winner, -1);
  EXPECT_EQ(verdict.over_winner[0].high, 0);
}

TEST(Judge, FewRoundsNeedALargerDifference) {
  EXPECT_TRUE(JudgeAll({Of({1.05, 1.05, 1.05}), Of({1, 1, 1})}).tie);
  EXPECT_FALSE(JudgeAll({Of({1.2, 1.2, 1.2}), Of({1, 1, 1})}).tie);
}

TEST(Judge, OneOrTwoRoundsTellNothing) {
  std::vector<Timing> timings = {Of({40, 50}), Of({1, 1})};
  EXPECT_TRUE(JudgeAll(timings).tie);
  EXPECT_EQ(JudgeAll(timings).winner, 1);
  EXPECT_FALSE(Apart(PairedRatio(timings[0], timings[1])));
  // Except one that was too slow for more.
  timings[0].outcome = RaceOutcome::kDropped;
  EXPECT_FALSE(JudgeAll(timings).tie);
}

TEST(PairedRatio, SamplesOfLengthZeroDivideNothing) {
  const Interval ratio = PairedRatio(Of({0, 0, 0, 0, 0}), Of({1, 1, 1, 1, 1}));
  EXPECT_LT(ratio.high, 1);
  EXPECT_GT(ratio.low, 0);
}

}  // namespace
}  // namespace sluice::testing
