#include "sluice/operators/math/reduction/extremes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

template <typename T>
class ExtremesTest : public ::testing::Test {};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ExtremesTest, Elements);

// Every number of elements up to several vectors, with the extremes at every
// position.
TYPED_TEST(ExtremesTest, FindsThemAnywhere) {
  for (int64_t count = 1; count <= 70; ++count) {
    for (int64_t at = 0; at < count; ++at) {
      std::vector<TypeParam> x(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) {
        x[i] = static_cast<TypeParam>((i * 37) % 11) - 5;
      }
      x[at] = 6.5;
      ASSERT_EQ(LargestOf(x.data(), count), 6.5) << count << " " << at;
      x[at] = -std::numeric_limits<TypeParam>::infinity();
      ASSERT_EQ(SmallestOf(x.data(), count), x[at]) << count << " " << at;
      ASSERT_EQ(LargestOf(x.data(), count),
                *std::max_element(x.begin(), x.end()));
    }
  }
}

TYPED_TEST(ExtremesTest, ReturnNaNIfThereIsOne) {
  constexpr auto kNaN = std::numeric_limits<TypeParam>::quiet_NaN();
  for (int64_t count = 1; count <= 70; ++count) {
    for (int64_t at = 0; at < count; ++at) {
      std::vector<TypeParam> x(static_cast<size_t>(count), 1);
      x[at] = at % 2 == 0 ? kNaN : -kNaN;
      ASSERT_TRUE(std::isnan(LargestOf(x.data(), count))) << count << " " << at;
      ASSERT_TRUE(std::isnan(SmallestOf(x.data(), count)));
    }
  }
}

TYPED_TEST(ExtremesTest, OfNothingButInfinities) {
  constexpr auto kInfinity = std::numeric_limits<TypeParam>::infinity();
  const std::vector<TypeParam> x(33, -kInfinity);
  EXPECT_EQ(LargestOf(x.data(), 33), -kInfinity);
  const std::vector<TypeParam> y(33, kInfinity);
  EXPECT_EQ(SmallestOf(y.data(), 33), kInfinity);
}

}  // namespace
}  // namespace sluice
