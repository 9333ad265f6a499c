#include "sluice/operators/creation/range.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Range, CountsWholeNumbersExactly) {
  const double step = 0x1p21 + 1;
  // One more than 2^31 steps of 1: float64 rounds that quotient.
  EXPECT_EQ(RangeCountOfWhole(0, step * 0x1p31 + 1, step),
            (int64_t{1} << 31) + 1);
  EXPECT_EQ(RangeCountOfWhole(0, step * 0x1p31, step), int64_t{1} << 31);
}

}  // namespace
}  // namespace sluice
