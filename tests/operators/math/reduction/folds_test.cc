#include "sluice/operators/math/reduction/folds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

template <typename T>
class FoldsTest : public ::testing::Test {};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FoldsTest, Elements);

// Numbers from -40 to 0, the largest of them several times.
template <typename T>
std::vector<T> Exponents(int64_t count, int64_t first) {
  std::vector<T> x(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    x[i] = static_cast<T>(-((i + first) * 37 % 41) - (i % 3) / T{7});
  }
  return x;
}

double SumOfExp(const std::vector<double>& x, double most) {
  double others = 0, equal = 0;
  for (const double term : x) {
    (term == most ? equal : others) += term == most ? 1 : std::exp(term - most);
  }
  return others + (equal - 1);
}

TYPED_TEST(FoldsTest, SumExponentialsOfEveryCount) {
  for (int64_t count = 1; count <= 70; ++count) {
    const auto x = Exponents<TypeParam>(count, 1);
    const TypeParam most = *std::max_element(x.begin(), x.end());
    const double want = SumOfExp({x.begin(), x.end()}, most);
    const double found = SumOfExpLess1(x.data(), count, most);
    ASSERT_NEAR(found, want, 1e-9 * std::abs(want)) << count;
  }
}

TYPED_TEST(FoldsTest, SumExponentialsOfColumnsWhoseMaximaGrow) {
  for (const int64_t columns : {1, 7, 8, 33}) {
    std::vector<TypeParam> most(columns,
                                -std::numeric_limits<TypeParam>::infinity());
    std::vector<double> rest(columns, -1);
    std::vector<std::vector<TypeParam>> rows;
    for (const int64_t count : {3, 0, 1, 16}) {
      std::vector<const TypeParam*> added;
      for (int64_t i = 0; i < count; ++i) {
        rows.push_back(Exponents<TypeParam>(columns, 5 * rows.size()));
        added.push_back(rows.back().data());
      }
      AddExpRows(added.data(), count, columns, most.data(), rest.data());
    }
    for (int64_t j = 0; j < columns; ++j) {
      std::vector<double> x;
      for (const auto& row : rows) {
        x.push_back(row[j]);
      }
      ASSERT_EQ(most[j], *std::max_element(x.begin(), x.end()));
      const double want = SumOfExp(x, most[j]);
      ASSERT_NEAR(rest[j], want, 1e-9 * std::abs(want)) << columns << " " << j;
    }
  }
}

TYPED_TEST(FoldsTest, SumExponentialsOfInfinitiesAndNaN) {
  constexpr auto kInfinity = std::numeric_limits<TypeParam>::infinity();
  constexpr auto kNaN = std::numeric_limits<TypeParam>::quiet_NaN();
  for (const TypeParam most : {kInfinity, -kInfinity}) {
    const std::vector<TypeParam> x(20, most);
    EXPECT_EQ(SumOfExpLess1(x.data(), 20, most), 19);
    std::vector<TypeParam> found(20, -kInfinity);
    std::vector<double> rest(20, -1);
    const TypeParam* const rows[] = {x.data(), x.data()};
    AddExpRows(rows, 2, 20, found.data(), rest.data());
    EXPECT_EQ(rest, std::vector<double>(20, 1));
    std::vector<TypeParam> with_nan = x;
    with_nan[13] = kNaN;
    EXPECT_TRUE(std::isnan(SumOfExpLess1(with_nan.data(), 20, most)));
    const TypeParam* const more[] = {with_nan.data()};
    AddExpRows(more, 1, 20, found.data(), rest.data());
    EXPECT_TRUE(std::isnan(rest[13]));
    EXPECT_EQ(rest[12], 2);
  }
}

TEST(ProductsTest, StopWhereAProductLeavesTheRange) {
  std::vector<float> x(200, 1.0F);
  for (int64_t i = 0; i < 200; ++i) {
    x[i] = i < 96 ? 1 + static_cast<float>(i) / 256 : 0x1p-126F;
  }
  double lanes[8] = {1, 1, 1, 1, 1, 1, 1, 1}, want[8] = {};
  std::copy(lanes, lanes + 8, want);
  EXPECT_EQ(MultiplyLanes(x.data(), 31, lanes), 0);
  EXPECT_EQ(MultiplyLanes(x.data(), 200, lanes), 128);
  for (int64_t i = 0; i < 128; ++i) {
    want[i % 8] *= x[i];
  }
  for (int j = 0; j < 8; ++j) {
    EXPECT_DOUBLE_EQ(lanes[j], want[j]);
  }
}

TEST(ProductsTest, OfColumnsSayWhetherAllAreInTheRange) {
  for (int64_t columns = 1; columns <= 20; ++columns) {
    std::vector<float> x(columns, 2), tiny = x;
    tiny.back() = 0x1p-149F;
    std::vector<double> products(2 * columns, 3);
    EXPECT_TRUE(MultiplyFourRows({x.data(), x.data(), x.data(), x.data()},
                                 columns, products.data()));
    for (int64_t j = 0; j < columns; ++j) {
      EXPECT_EQ(products[2 * j], 48);
      EXPECT_EQ(products[2 * j + 1], 3);
    }
    const float* const t = tiny.data();
    EXPECT_FALSE(MultiplyFourRows({t, t, t, t}, columns, products.data()));
    std::fill(x.begin(), x.end(), 0.0F);
    EXPECT_TRUE(
        MultiplyFourRows({x.data(), t, t, t}, columns, products.data()));
  }
}

}  // namespace
}  // namespace sluice
