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

TYPED_TEST(ExtremesTest, OfFourRowsKeepNaN) {
  constexpr auto kNaN = std::numeric_limits<TypeParam>::quiet_NaN();
  for (int64_t columns = 1; columns <= 35; ++columns) {
    for (int row = 0; row < 4; ++row) {
      std::vector<TypeParam> rows[4];
      for (auto& each : rows) {
        each.assign(static_cast<size_t>(columns), 1);
      }
      rows[row].back() = 5;
      rows[row].front() = -5;
      const TypeParam* const from[4] = {rows[0].data(), rows[1].data(),
                                        rows[2].data(), rows[3].data()};
      std::vector<TypeParam> most(static_cast<size_t>(columns), 3);
      std::vector<TypeParam> least(static_cast<size_t>(columns), -3);
      TakeFourRows(true, from, columns, most.data());
      TakeFourRows(false, from, columns, least.data());
      EXPECT_EQ(most.back(), columns == 1 ? 3 : 5);
      EXPECT_EQ(least.front(), -5);
      EXPECT_EQ(most[columns / 2], columns == 2 ? 5 : 3);
      rows[row].back() = kNaN;
      TakeFourRows(true, from, columns, most.data());
      rows[row].back() = 9;
      TakeFourRows(true, from, columns, most.data());
      EXPECT_TRUE(std::isnan(most.back()));
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
