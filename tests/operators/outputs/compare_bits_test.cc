#include "tests/operators/outputs/compare_bits.h"

#include <bit>
#include <limits>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

BitDifference Compare(const std::vector<float>& a,
                      const std::vector<float>& b) {
  const DDim dims = {static_cast<int64_t>(a.size())};
  return CompareBits(Tensor::FromVector<float>(dims, a),
                     Tensor::FromVector<float>(dims, b));
}

TEST(CompareBits, EqualTensorsDifferInNothing) {
  const BitDifference found = Compare({1, -2, kNaN}, {1, -2, -kNaN});
  EXPECT_EQ(found.elements, 3);
  EXPECT_EQ(found.differing_elements, 0);
  EXPECT_EQ(found.differing_bits, 0);
  EXPECT_EQ(found.most_ulps, 0);
  EXPECT_EQ(found.most_relative, 0);
}

TEST(CompareBits, CountsElementsBitsAndUnitsOfTheLastPlace) {
  const float next = std::bit_cast<float>(std::bit_cast<uint32_t>(1.0F) + 3);
  const BitDifference found = Compare({next, 5, 1}, {1, 5, 2});
  EXPECT_EQ(found.differing_elements, 2);
  EXPECT_EQ(found.differing_bits,
            2 + std::popcount(std::bit_cast<uint32_t>(1.0F) ^
                              std::bit_cast<uint32_t>(2.0F)));
  EXPECT_EQ(found.most_ulps, 1 << 23);
  EXPECT_EQ(found.most_relative, 0.5);
}

TEST(CompareBits, ZeroesOfBothSignsAreNeighbours) {
  const BitDifference found = Compare({0.0F, 1e-45F}, {-0.0F, -1e-45F});
  EXPECT_EQ(found.differing_elements, 2);
  EXPECT_EQ(found.most_ulps, 2);
}

TEST(CompareBits, ANumberInPlaceOfNaNIsAsFarAsCanBe) {
  const BitDifference found = Compare({kNaN, 1}, {1, 1});
  EXPECT_EQ(found.most_ulps, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(found.most_relative, std::numeric_limits<double>::infinity());
}

TEST(CompareBits, IntegersHaveNoUnitsOfTheLastPlace) {
  const BitDifference found =
      CompareBits(Tensor::FromVector<int64_t>({2}, {7, 1}),
                  Tensor::FromVector<int64_t>({2}, {7, 3}));
  EXPECT_EQ(found.differing_elements, 1);
  EXPECT_EQ(found.most_ulps, 0);
  EXPECT_EQ(found.most_relative, 2.0 / 3);
}

TEST(CompareBits, InfinityIsFarFromEveryNumberAndFromItsNegative) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float other : {1.0F, -kInfinity}) {
    EXPECT_EQ(Compare({kInfinity}, {other}).most_relative, kInfinity);
    EXPECT_EQ(Compare({other}, {kInfinity}).most_relative, kInfinity);
  }
  EXPECT_EQ(Compare({kInfinity}, {kInfinity}).most_relative, 0);
}

TEST(CompareBits, LargeIntegersDifferAlsoWhereDoublesDoNot) {
  const int64_t large = (int64_t{1} << 53) + 1;
  const BitDifference found =
      CompareBits(Tensor::FromVector<int64_t>({1}, {large}),
                  Tensor::FromVector<int64_t>({1}, {large - 1}));
  EXPECT_GT(found.most_relative, 0);
}

TEST(CompareBits, OtherShapesAreRefused) {
  ExpectError(ErrorCode::kInvalidArgument, "compare_bits.type",
              {"float32", "[1]", "[2]"}, [] {
                CompareBits(Tensor::FromVector<float>({1}, {1}),
                            Tensor::FromVector<float>({2}, {1, 2}));
              });
}

}  // namespace
}  // namespace sluice::testing
