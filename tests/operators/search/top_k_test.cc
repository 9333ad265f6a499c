#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <Eigen/Core>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

constexpr float kQuietNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
std::vector<int64_t> IndicesOf(const std::vector<T>& row,
                               int64_t k,
                               bool largest,
                               bool sorted = true) {
  const DDim dims({static_cast<int64_t>(row.size())});
  const Tensor x = Tensor::FromVector(dims, row);
  auto out = RunOp("top_k", {{"X", x}},
                   {{"k", k}, {"largest", largest}, {"sorted", sorted}});
  const auto values = out["Out"].ToVector<T>();
  const auto indices = out["Indices"].ToVector<int64_t>();
  EXPECT_EQ(static_cast<int64_t>(indices.size()), k);
  for (int64_t i = 0; i < k; ++i) {
    EXPECT_EQ(std::memcmp(&values[i], &row[indices[i]], sizeof(T)), 0);
  }
  return indices;
}

using Indices = std::vector<int64_t>;

TEST(TopKTest, CountsNaNAsLargerThanInfinity) {
  const std::vector<float> row = {1, kInfinity, kQuietNaN, -kInfinity,
                                  -kQuietNaN};
  EXPECT_EQ(IndicesOf(row, 1, true), Indices({2}));
  EXPECT_EQ(IndicesOf(row, 3, true), Indices({2, 4, 1}));
  EXPECT_EQ(IndicesOf(row, 1, false), Indices({3}));
  EXPECT_EQ(IndicesOf(row, 5, false), Indices({3, 0, 1, 2, 4}));
}

TEST(TopKTest, FindsTheBestOfALongRowWithNaNs) {
  for (size_t nan : {0, 40, 150}) {
    std::vector<float> row(200, 3.0F);
    row[nan] = kQuietNaN;
    row[77] = row[178] = 1.0F;
    EXPECT_EQ(IndicesOf(row, 1, false), Indices({77}));
    EXPECT_EQ(IndicesOf(row, 1, true), Indices({static_cast<int64_t>(nan)}));
  }
}

TEST(TopKTest, TreatsBothZerosAsEqual) {
  std::vector<double> signs(100, 0.0);
  signs[1] = signs[70] = -0.0;
  EXPECT_EQ(IndicesOf(signs, 1, false), Indices({0}));
  const std::vector<double> row = {0.0, -0.0, 0.0, -1.0};
  EXPECT_EQ(IndicesOf(row, 3, true), Indices({0, 1, 2}));
  EXPECT_EQ(IndicesOf(row, 2, false), Indices({3, 0}));
}

TEST(TopKTest, OrdersTheLimitsOfIntegers) {
  using Limits = std::numeric_limits<int64_t>;
  const std::vector<int64_t> row = {0, Limits::min(), Limits::max(), -1};
  EXPECT_EQ(IndicesOf(row, 4, true), Indices({2, 0, 3, 1}));
  const std::vector<uint8_t> bytes = {0, 255, 127, 128};
  EXPECT_EQ(IndicesOf(bytes, 4, false), Indices({0, 2, 3, 1}));
}

template <typename T, typename Make>
void ExpectAgreesWithSort(Make make) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> draw(-20, 20);
  for (int64_t columns : {1, 2, 17, 300}) {
    std::vector<T> row(columns);
    std::vector<float> numbers(columns);
    for (int64_t i = 0; i < columns; ++i) {
      numbers[i] = static_cast<float>(draw(random));
      row[i] = make(numbers[i]);
    }
    Indices order(columns);
    for (bool largest : {false, true}) {
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return largest ? numbers[a] > numbers[b] : numbers[a] < numbers[b];
      });
      for (int64_t k = 1; k <= columns; k = k * 2 + 1) {
        const Indices best(order.begin(), order.begin() + k);
        EXPECT_EQ(IndicesOf(row, k, largest), best);
        EXPECT_THAT(IndicesOf(row, k, largest, false),
                    ::testing::UnorderedElementsAreArray(best));
      }
    }
  }
}

TEST(TopKTest, AgreesWithAStableSort) {
  ExpectAgreesWithSort<float>([](float x) { return x; });
  ExpectAgreesWithSort<double>([](float x) { return double{x}; });
  ExpectAgreesWithSort<int8_t>([](float x) { return static_cast<int8_t>(x); });
  ExpectAgreesWithSort<float16>(
      [](float x) { return std::bit_cast<float16>(Eigen::half(x)); });
  ExpectAgreesWithSort<bfloat16>(
      [](float x) { return std::bit_cast<bfloat16>(Eigen::bfloat16(x)); });
}

// The few best are kept in order, more of them in a heap; blocks without a
// better element are skipped.
TEST(TopKTest, FindsAnyNumberOfALongRowWithTiesAndNaNs) {
  std::mt19937 random(7);
  for (const int64_t size : {20, 33, 64, 100, 257}) {
    std::vector<float> row(static_cast<size_t>(size));
    for (float& element : row) {
      element = static_cast<float>(random() % 50) - 25;
    }
    row[size / 2] = kQuietNaN;
    row[size / 3] = -kInfinity;
    for (const bool largest : {true, false}) {
      const Indices all = IndicesOf(row, size, largest);
      for (const int64_t k : {2, 3, 16, 17}) {
        const Indices few(all.begin(), all.begin() + k);
        EXPECT_EQ(IndicesOf(row, k, largest), few) << size << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace sluice
