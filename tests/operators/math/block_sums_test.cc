#include "sluice/operators/math/block_sums.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

template <typename T>
std::vector<T> Sevenths(int64_t count) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<T>(i % 101 - 40) / 7;
  }
  return values;
}

template <typename T>
class BlockSumsTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BlockSumsTest, Types);

TYPED_TEST(BlockSumsTest, AddsEightPartialSumsInPairs) {
  for (int64_t count = 0; count < 400; ++count) {
    const auto x = Sevenths<TypeParam>(count);
    std::vector<double> sums((count + kSumBlock - 1) / kSumBlock + 1, -7);
    SumBlocks(x.data(), count, sums.data());
    for (int64_t block = 0; block * kSumBlock < count; ++block) {
      double p[8] = {};
      for (int64_t i = 0; i < kSumBlock; ++i) {
        const int64_t at = block * kSumBlock + i;
        if (at < count) p[i % 8] += static_cast<double>(x[at]);
      }
      ASSERT_EQ(sums[block], ((p[0] + p[1]) + (p[2] + p[3])) +
                                 ((p[4] + p[5]) + (p[6] + p[7])))
          << count << " block " << block;
    }
    EXPECT_EQ(sums.back(), -7);
  }
}

TYPED_TEST(BlockSumsTest, AddsFourPartialSumsToEveryNumberOfColumns) {
  constexpr int64_t kStep = 90;
  for (int64_t rows = 0; rows < 10; ++rows) {
    const auto x = Sevenths<TypeParam>(rows * kStep);
    for (int64_t columns = 0; columns <= kStep; ++columns) {
      std::vector<double> sums(columns + 1, 0.1), want = sums;
      for (int64_t j = 0; j < columns; ++j) {
        double p[4] = {};
        for (int64_t i = 0; i < rows; ++i) {
          p[i % 4] += static_cast<double>(x[i * kStep + j]);
        }
        want[j] += (p[0] + p[1]) + (p[2] + p[3]);
      }
      AddToColumns(x.data(), rows, kStep, columns, sums.data());
      ASSERT_EQ(sums, want) << rows << " rows, " << columns << " columns";
    }
  }
}

}  // namespace
}  // namespace sluice
