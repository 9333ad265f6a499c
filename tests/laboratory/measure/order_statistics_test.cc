#include "sluice/laboratory/measure/order_statistics.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

TEST(OrderStatistics, MedianOfOddEvenAndNothing) {
  EXPECT_EQ(SortedMedian(std::vector<double>{1, 2, 10}), 2);
  EXPECT_EQ(SortedMedian(std::vector<double>{1, 2, 4, 10}), 3);
  EXPECT_EQ(SortedMedian({}), 0);
}

TEST(OrderStatistics, QuantilesLieBetweenNeighbours) {
  const std::vector<double> values = {0, 10, 20, 30, 40};
  EXPECT_EQ(SortedQuantile(values, 0), 0);
  EXPECT_EQ(SortedQuantile(values, 0.25), 10);
  EXPECT_EQ(SortedQuantile(values, 0.3), 12);
  EXPECT_EQ(SortedQuantile(values, 1), 40);
  EXPECT_EQ(SortedQuantile(values, 7), 40);
}

// From table A.17 of Conover, Practical Nonparametric Statistics, and others.
TEST(OrderStatistics, RanksAreThoseOfTheTables) {
  EXPECT_EQ(MedianIntervalRank(5, 0.95), 1u);
  EXPECT_EQ(MedianIntervalRank(6, 0.95), 1u);
  EXPECT_EQ(MedianIntervalRank(9, 0.95), 2u);
  EXPECT_EQ(MedianIntervalRank(10, 0.95), 2u);
  EXPECT_EQ(MedianIntervalRank(20, 0.95), 6u);
  EXPECT_EQ(MedianIntervalRank(50, 0.95), 18u);
  EXPECT_EQ(MedianIntervalRank(100, 0.95), 40u);
  EXPECT_EQ(MedianIntervalRank(8, 0.99), 1u);
  EXPECT_EQ(MedianIntervalRank(0, 0.95), 1u);
  // 2^-n underflows a double; the rank is n / 2 - 1.96 sqrt(n) / 2.
  EXPECT_NEAR(static_cast<double>(MedianIntervalRank(10000, 0.95)), 4902, 1);
}

TEST(OrderStatistics, TheIntervalContainsTheMedianAsOftenAsItSays) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> draw(0, 1);  // median 1
  constexpr int kTrials = 4000;
  int contained = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(21);
    std::generate(values.begin(), values.end(), [&] { return draw(random); });
    std::sort(values.begin(), values.end());
    const Interval interval = MedianInterval(values, 0.95);
    contained += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
  }
  // Exactly 0.9734 for the ranks 6 and 16 of 21.
  EXPECT_NEAR(contained / double{kTrials}, 0.973, 0.01);
}

}  // namespace
}  // namespace sluice::testing
