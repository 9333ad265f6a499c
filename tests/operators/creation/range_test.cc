#include "sluice/operators/creation/range.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

Tensor Range(double start, double end, double step, DType dtype) {
  return RunOp("range", {},
               {{"start", start},
                {"end", end},
                {"step", step},
                {"dtype", dtype}})["Out"];
}

TEST(Range, IsInt64FromZeroByOne) {
  EXPECT_EQ(RunOp("range", {}, {{"end", 2.0}})["Out"].ToVector<int64_t>(),
            (Ints{0, 1}));
}

TEST(Range, FloatsAreRoundedOnce) {
  const auto tenths = Range(0, 0.95, 0.1, DType::kFloat32).ToVector<float>();
  ASSERT_EQ(tenths.size(), 10);
  EXPECT_EQ(tenths[7], static_cast<float>(7 * 0.1));
  // 1 + 3 * 2^-11 is halfway between two float16: rounded to the even one.
  const auto halves =
      Range(1, 1.01, 3 * 0x1p-11, DType::kFloat16).ToVector<float16>();
  EXPECT_EQ(halves[1].bits, 0x3c02);
}

TEST(Range, CountsWholeNumbersExactly) {
  const double step = 0x1p21 + 1;
  // One more than 2^31 steps of 1: float64 rounds that quotient.
  EXPECT_EQ(RangeCountOfWhole(0, step * 0x1p31 + 1, step),
            (int64_t{1} << 31) + 1);
  EXPECT_EQ(RangeCountOfWhole(0, step * 0x1p31, step), int64_t{1} << 31);
  EXPECT_EQ(Range(0x1p31 - 1, 0x1p31, 1, DType::kInt32).ToVector<int32_t>(),
            std::vector<int32_t>{std::numeric_limits<int32_t>::max()});
}

}  // namespace
}  // namespace sluice
