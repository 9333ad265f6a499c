#include "sluice/laboratory/measure/time_text.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(TimeText, HasTheUnitThatFits) {
  EXPECT_EQ(TimeText(0), "0.00 us");
  EXPECT_EQ(TimeText(12.344e-6), "12.34 us");
  EXPECT_EQ(TimeText(15.97195e-3), "15.97 ms");
  EXPECT_EQ(TimeText(1.2), "1.20 s");
}

TEST(RatioText, SaysWhatTheRatioIsOf) {
  EXPECT_EQ(RatioText(1.0), "as long");
  EXPECT_EQ(RatioText(1.004), "as long");
  EXPECT_EQ(RatioText(2.5), "2.5 times as long");
  EXPECT_EQ(RatioText(0.902), "1.11 times as fast");
  EXPECT_EQ(RatioText(Interval{0.5, 0.8}), "1.25 to 2 times as fast");
  EXPECT_EQ(RatioText(Interval{1.5, 2}), "1.5 to 2 times as long");
}

}  // namespace
}  // namespace sluice
