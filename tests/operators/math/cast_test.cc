#include "sluice/operators/math/cast.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/operators/math/half_conversions.h"

namespace sluice {
namespace {

template <typename To, typename From>
std::vector<To> CastTo(const std::vector<From>& from) {
  std::vector<To> to(from.size());
  Cast(from.data(), static_cast<int64_t>(from.size()), kDTypeOf<To>, to.data());
  return to;
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Cast, TruncatesAndClampsFloatsToIntegers) {
  const std::vector<float> x = {1.9F, -1.9F, 300, -300, kInfinity, -kInfinity};
  EXPECT_EQ(CastTo<int8_t>(x),
            std::vector<int8_t>({1, -1, 127, -128, 127, -128}));
  EXPECT_EQ(CastTo<uint8_t>(x), std::vector<uint8_t>({1, 0, 255, 0, 255, 0}));
}

TEST(Cast, ClampsAtTheLimitsOfWideIntegers) {
  const std::vector<double> x = {9.3e18, -9.3e18, 9223372036854774784.0};
  EXPECT_EQ(CastTo<int64_t>(x),
            std::vector<int64_t>({std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min(),
                                  9223372036854774784}));
  EXPECT_EQ(CastTo<int32_t>(std::vector<float>({2147483648.0F, -3e9F})),
            std::vector<int32_t>({2147483647, -2147483648}));
  EXPECT_EQ(CastTo<int32_t>(std::vector<double>({2147483647.5, -2147483648.5})),
            std::vector<int32_t>({2147483647, -2147483648}));
}

TEST(Cast, TurnsNaNInto0OrTrue) {
  EXPECT_EQ(CastTo<int64_t>(std::vector<float>({kNaN, -kNaN})),
            std::vector<int64_t>({0, 0}));
  EXPECT_EQ(CastTo<uint8_t>(std::vector<double>({kNaN})),
            std::vector<uint8_t>({0}));
  EXPECT_EQ(CastTo<uint8_t>(std::vector<float16>({{0x7E00}, {0x3C00}})),
            std::vector<uint8_t>({0, 1}));
}

TEST(Cast, DropsTheUpperBitsOfIntegers) {
  EXPECT_EQ(CastTo<uint8_t>(std::vector<int32_t>({256, -1, 513})),
            std::vector<uint8_t>({0, 255, 1}));
  EXPECT_EQ(CastTo<int32_t>(std::vector<int64_t>({int64_t{1} << 32, -7})),
            std::vector<int32_t>({0, -7}));
}

// Compared with the conversion of one number by Eigen.
TEST(Cast, WidensEveryFloat16) {
  std::vector<float16> halves(1 << 16);
  for (size_t i = 0; i < halves.size(); ++i) {
    halves[i] = {static_cast<uint16_t>(i)};
  }
  const std::vector<float> found = CastTo<float>(halves);
  for (size_t i = 0; i < halves.size(); ++i) {
    const float expected = Widen(halves[i]);
    ASSERT_TRUE(found[i] == expected ||
                (std::isnan(found[i]) && std::isnan(expected)))
        << i;
  }
}

TEST(Cast, RoundsToEveryFloat16) {
  std::vector<float> x;
  for (int bits = 0; bits < 0x7C00; ++bits) {
    const float half = Widen(float16{static_cast<uint16_t>(bits)});
    const float next = Widen(float16{static_cast<uint16_t>(bits + 1)});
    const float middle = std::isinf(next) ? 65520.0F : (half + next) / 2;
    for (const float value : {half, std::nextafter(middle, 0.0F), middle,
                              std::nextafter(middle, kInfinity)}) {
      x.insert(x.end(), {value, -value});
    }
  }
  x.insert(x.end(), {kInfinity, -kInfinity, kNaN, 3e38F, 1e-45F});
  const std::vector<float16> found = CastTo<float16>(x);
  for (size_t i = 0; i < x.size(); ++i) {
    const float expected = Widen(Narrow<float16>(x[i]));
    const float value = Widen(found[i]);
    ASSERT_TRUE(value == expected || (std::isnan(value) && std::isnan(x[i])))
        << x[i];
    ASSERT_EQ(std::signbit(value), std::signbit(expected)) << x[i];
  }
}

TEST(Cast, ToBoolAsksWhetherItIsNot0) {
  const float x[] = {0.0F, -0.0F, 0.25F, kNaN, -3.0F};
  bool out[5];
  Cast(x, 5, DType::kBool, out);
  EXPECT_FALSE(out[0] || out[1]);
  EXPECT_TRUE(out[2] && out[3] && out[4]);
  float back[5];
  Cast(out, 5, DType::kFloat32, back);
  EXPECT_EQ(back[0], 0.0F);
  EXPECT_EQ(back[2], 1.0F);
}

TEST(Cast, RoundsToHalfPrecisionToNearestEven) {
  EXPECT_EQ(
      CastTo<float16>(std::vector<float>({1.0F, 65504.0F, 65520.0F, 2049.0F})),
      std::vector<float16>({{0x3C00}, {0x7BFF}, {0x7C00}, {0x6800}}));
  EXPECT_EQ(CastTo<bfloat16>(std::vector<float>({1.0F, 257.0F, -2.0F})),
            std::vector<bfloat16>({{0x3F80}, {0x4380}, {0xC000}}));
}

// 1 + 2^-11 is between two halves; bits beyond float's precision decide.
TEST(Cast, RoundsDoublesToHalfPrecisionOnce) {
  const double tie = 1.0 + std::ldexp(1.0, -11);
  const double above = tie + std::ldexp(1.0, -40);
  const double below = tie - std::ldexp(1.0, -40);
  EXPECT_EQ(CastTo<float16>(std::vector<double>({below, tie, above, -above})),
            std::vector<float16>({{0x3C00}, {0x3C00}, {0x3C01}, {0xBC01}}));
  EXPECT_EQ(CastTo<float16>(std::vector<double>({1e300, -1e-300})),
            std::vector<float16>({{0x7C00}, {0x8000}}));
}

TEST(Cast, RoundsWideIntegersToBfloat16Once) {
  const int64_t tie = (int64_t{257} << 54);
  EXPECT_EQ(CastTo<bfloat16>(std::vector<int64_t>({tie, tie + 1, -tie - 1})),
            std::vector<bfloat16>({{0x5E80}, {0x5E81}, {0xDE81}}));
  const int32_t small = 257 << 22;
  EXPECT_EQ(CastTo<bfloat16>(std::vector<int32_t>({small, small + 1})),
            std::vector<bfloat16>({{0x4E80}, {0x4E81}}));
}

struct FromOne {
  template <typename From>
  void operator()() const {
    for (DType dtype : kAllDTypes) {
      if (dtype == DType::kFloat8E8M0FNU) continue;
      const float ones[] = {1, 0, 1};
      From from[3];
      Cast(ones, 3, kDTypeOf<From>, from);
      uint64_t storage[3];
      Cast(from, 3, dtype, storage);
      float back[3];
      VisitDType(dtype, [&]<typename To>() {
        Cast(reinterpret_cast<const To*>(storage), 3, DType::kFloat32, back);
      });
      EXPECT_EQ(back[0], 1.0F) << ToString(dtype);
      EXPECT_EQ(back[1], 0.0F) << ToString(dtype);
      EXPECT_EQ(back[2], 1.0F) << ToString(dtype);
    }
  }
};

TEST(Cast, KeepsOneAndZeroBetweenAllPairsOfDTypes) {
  for (DType dtype : kAllDTypes) {
    if (dtype == DType::kFloat8E8M0FNU) continue;  // has no 0
    VisitDType(dtype, FromOne());
  }
}

}  // namespace
}  // namespace sluice
