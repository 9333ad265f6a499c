#include "sluice/operators/math/elementwise.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

template <typename T>
std::vector<T> Thirds(int64_t count, int from) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<T>(i + from) / 3;
  }
  return values;
}

template <typename T>
class ElementwiseTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ElementwiseTest, Types);

TYPED_TEST(ElementwiseTest, AddIsThePlainSumForEveryLength) {
  for (int64_t count = 0; count < 140; ++count) {
    const auto x = Thirds<TypeParam>(count, 1),
               y = Thirds<TypeParam>(count, -9);
    std::vector<TypeParam> out(count + 1, TypeParam{-7}), expected = out;
    AddContiguous(x.data(), y.data(), count, out.data());
    AddContiguousPlain(x.data(), y.data(), count, expected.data());
    EXPECT_EQ(out, expected) << count;
    EXPECT_EQ(out.back(), TypeParam{-7});
  }
}

TYPED_TEST(ElementwiseTest, AddIntoAnInput) {
  auto x = Thirds<TypeParam>(77, 1);
  const auto y = Thirds<TypeParam>(77, 5);
  std::vector<TypeParam> expected(77);
  AddContiguousPlain(x.data(), y.data(), 77, expected.data());
  AddContiguous(x.data(), y.data(), 77, x.data());
  EXPECT_EQ(x, expected);
}

TYPED_TEST(ElementwiseTest, ScaleRoundsTwiceForEveryLength) {
  const TypeParam scale = TypeParam{1} / 7, bias = TypeParam{1} / 11;
  for (int64_t count = 0; count < 140; ++count) {
    const auto x = Thirds<TypeParam>(count, -60);
    std::vector<TypeParam> out(count + 1, TypeParam{-7});
    ScaleContiguous(x.data(), scale, bias, count, out.data());
    for (int64_t i = 0; i < count; ++i) {
      volatile TypeParam product = x[i] * scale;
      EXPECT_EQ(out[i], product + bias) << count << " at " << i;
    }
    EXPECT_EQ(out.back(), TypeParam{-7});
  }
}

TYPED_TEST(ElementwiseTest, NanAndInfinityPass) {
  using Limits = std::numeric_limits<TypeParam>;
  std::vector<TypeParam> x(20, 1), y(20, 1), out(20);
  x[3] = Limits::quiet_NaN();
  y[17] = Limits::infinity();
  AddContiguous(x.data(), y.data(), 20, out.data());
  EXPECT_TRUE(std::isnan(out[3]));
  EXPECT_EQ(out[17], Limits::infinity());
  EXPECT_EQ(out[4], 2);
}

}  // namespace
}  // namespace sluice
