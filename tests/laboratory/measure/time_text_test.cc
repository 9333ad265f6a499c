#include "sluice/laboratory/measure/time_text.h"

#include <gtest/gtest.h>

#include "sluice/laboratory/measure/shown_times.h"

namespace sluice {
namespace {

TEST(TimeText, HasThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(TimeText(0), "0 us");
  EXPECT_EQ(TimeText(6.521e-7), "0.652 us");
  EXPECT_EQ(TimeText(12.344e-6), "12.3 us");
  EXPECT_EQ(TimeText(9.999e-6), "10.0 us");
  EXPECT_EQ(TimeText(999.4e-6), "999 us");
  EXPECT_EQ(TimeText(999.6e-6), "1.00 ms");
  EXPECT_EQ(TimeText(15.97195e-3), "16.0 ms");
  EXPECT_EQ(TimeText(1.2), "1.20 s");
  EXPECT_EQ(TimeText(1234.0), "1230 s");
  EXPECT_EQ(TimeText(1.084e-3, 2), "1.1 ms");
  EXPECT_EQ(TimeText(108.4e-6, 2), "110 us");
}

TEST(TimeText, IntervalsNameTheirUnitOnce) {
  EXPECT_EQ(RangeText(715e-6, 719e-6), "715 to 719 us");
  EXPECT_EQ(RangeText(980e-6, 1.2e-3), "980 us to 1.20 ms");
}

TEST(Busy, IsForIntervalsWiderThanAQuarterAndWaitsForCpus) {
  Timing timing;
  timing.rounds = 21;
  timing.median = 5e-3;
  timing.low = 4.5e-3;
  timing.high = 5.7e-3;
  EXPECT_EQ(TimeText(timing), "5.00 ms (4.50 to 5.70 ms, 21 runs)");
  timing.high = 5.8e-3;
  EXPECT_EQ(TimeText(timing),
            "5.00 ms (4.50 to 5.80 ms, 21 runs, machine busy)");
  timing.high = 5.7e-3;
  timing.disturbed = 11;
  timing.rounds = 9;
  EXPECT_EQ(TimeText(timing), "5.00 ms (9 runs only, machine busy)");
}

TEST(ShownTimes, FewerThanTenTurnsHaveNoInterval) {
  Timing run;
  run.median = 6.85e-3;
  run.low = 6.8e-3;
  run.high = 6.9e-3;
  run.rounds = 10;
  EXPECT_EQ(TimeText(run), "6.85 ms (6.80 to 6.90 ms, 10 runs)");
  run.rounds = 9;
  EXPECT_EQ(TimeText(run), "6.85 ms (9 runs only)");
}

TEST(ShownTimes, AreListedUpToOneAndAHalfTimesApart) {
  EXPECT_FALSE(Contradict(1e-3, 1.49e-3));
  EXPECT_TRUE(Contradict(1e-3, 1.51e-3));
  EXPECT_TRUE(Contradict(1.51e-3, 1e-3));
  EXPECT_TRUE(Contradict(0, 1e-3));
  EXPECT_FALSE(Contradict(1e-6, 5e-6)) << "the clock and the executor";
  ShownTimes shown;
  shown.run.median = 1e-3;
  shown.ops = 0.9e-3;
  EXPECT_EQ(shown.WhyNoOps(), "");
}

TEST(ComparedText, NeedsIntervalsThatDoNotOverlap) {
  Timing before, now;
  before.median = before.low = before.high = 2e-3;
  now.median = now.low = now.high = 1e-3;
  before.rounds = now.rounds = 10;
  EXPECT_EQ(ComparedText(now, before), "2 to 2 times as fast");
  now.rounds = 2;
  EXPECT_EQ(ComparedText(now, before), "2 times as fast");
  before.low = 0.9e-3;
  EXPECT_EQ(ComparedText(now, before),
            "no difference that can be told from noise");
}

TEST(RatioText, SaysWhatTheRatioIsOf) {
  EXPECT_EQ(RatioText(1.0), "no gain");
  EXPECT_EQ(RatioText(1.004), "no gain");
  EXPECT_EQ(RatioText(0.996), "no gain");
  EXPECT_EQ(RatioText(2.5), "2.5 times as long");
  EXPECT_EQ(RatioText(0.902), "1.11 times as fast");
  EXPECT_EQ(RatioText(Interval{0.5, 0.8}), "1.25 to 2 times as fast");
  EXPECT_EQ(RatioText(Interval{1.5, 2}), "1.5 to 2 times as long");
}

}  // namespace
}  // namespace sluice
