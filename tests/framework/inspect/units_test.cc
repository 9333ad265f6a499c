#include "sluice/framework/inspect/units.h"

#include <limits>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Units, ATimeHasTwoDigitsIfEstimatedAndThreeIfMeasured) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ShortTime(0, true), "<1 us");
  EXPECT_EQ(ShortTime(9.99e-7, false), "<1 us");
  EXPECT_EQ(ShortTime(1.26e-6, true), "1.3 us");
  EXPECT_EQ(ShortTime(96.4e-6, true), "96 us");
  EXPECT_EQ(ShortTime(123e-6, true), "120 us");
  EXPECT_EQ(ShortTime(123.4e-6, false), "123 us");
  EXPECT_EQ(ShortTime(999.6e-6, false), "1.00 ms");
  EXPECT_EQ(ShortTime(1.234e-3, false), "1.23 ms");
  EXPECT_EQ(ShortTime(2.5, true), "2.5 s");
  EXPECT_EQ(ShortTime(infinity, true), "inf s");
}

TEST(TimeUnit, IsThatOfTheLongestTime) {
  const TimeUnit us(1.2344e-3);
  EXPECT_EQ(us.name(), "us");
  EXPECT_EQ(us.Cell(1.2344e-3), "1230");
  EXPECT_EQ(us.Cell(1.2344e-3, 2), "1200");
  EXPECT_EQ(us.Cell(9e-7), "<1");
  EXPECT_EQ(us.Cell(0), "");
  EXPECT_EQ(TimeUnit(8e-6).Cell(7.51e-6), "7.5");
  const TimeUnit ms(0.25);
  EXPECT_EQ(ms.name(), "ms");
  EXPECT_EQ(ms.Cell(1.2344e-3), "1.2");
  EXPECT_EQ(ms.Cell(9e-7), "0.0");
  EXPECT_EQ(TimeUnit(200).name(), "s");
}

TEST(Units, BytesAreCountedInThousands) {
  EXPECT_EQ(ShortBytes(0), "0 B");
  EXPECT_EQ(ShortBytes(768), "768 B");
  EXPECT_EQ(ShortBytes(999.6), "1.0 kB");
  EXPECT_EQ(ShortBytes(1600000), "1.6 MB");
  EXPECT_EQ(ShortBytes(78400), "78 kB");
  EXPECT_EQ(ShortBytes(2.2e15), "2.2 PB");
  EXPECT_EQ(ShortBytes(2.2116939e10, 3), "22.1 GB");
}

TEST(Units, RatiosNearOneAreTheSame) {
  EXPECT_EQ(TimesAsLong(1.04), "same");
  EXPECT_EQ(TimesAsLong(1.06), "1.1x");
  EXPECT_EQ(TimesAsLong(25.3), "25x");
  EXPECT_EQ(TimesAsLong(1e4), ">999x");
  EXPECT_EQ(TimesAsLong(std::numeric_limits<double>::quiet_NaN()), ">999x");
}

TEST(Units, ALongReasonLosesWhatFollowsAComma) {
  EXPECT_EQ(CutReason("tie, registered first", 21), "tie, registered first");
  EXPECT_EQ(CutReason("tie, registered first", 20), "tie");
  EXPECT_EQ(CutReason("fastest estimate, apart same", 12), "faste..imate");
}

TEST(Units, ALongNameKeepsItsEnds) {
  EXPECT_EQ(CutMiddle("relu", 4), "relu");
  EXPECT_EQ(CutMiddle("softmax_with_cross_entropy_grad", 24),
            "softmax_wit..ntropy_grad");
  EXPECT_EQ(CutMiddle(std::string(300, 'x'), 20).size(), 20);
  // No part of a character is left.
  EXPECT_EQ(CutMiddle("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 7),
            "\u00e4..\u00e4");
}

}  // namespace
}  // namespace sluice
