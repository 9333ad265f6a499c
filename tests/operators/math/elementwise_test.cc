#include "sluice/operators/math/elementwise.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::operators::math {
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
class ElementwiseTest : public testing::Test {};
using Types = testing::Types<float, double>;
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

template <typename T>
T Compute(BinaryOp op, T x, T y) {
  switch (op) {
    case BinaryOp::kAdd:
      return x + y;
    case BinaryOp::kSub:
      return x - y;
    case BinaryOp::kMul:
      return x * y;
    default:
      return x / y;
  }
}

TYPED_TEST(ElementwiseTest, EveryOpForEveryLengthAndSide) {
  using T = TypeParam;
  for (const BinaryOp op :
       {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kDiv}) {
    for (int64_t count = 0; count < 70; ++count) {
      const auto x = Thirds<T>(count, 1), y = Thirds<T>(count, -90);
      const T one = T{5} / 7;
      std::vector<T> both(count), left(count), right(count);
      BinaryContiguous(op, x.data(), y.data(), count, both.data());
      BinaryContiguous(op, one, y.data(), count, left.data());
      BinaryContiguous(op, x.data(), one, count, right.data());
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(both[i], Compute(op, x[i], y[i])) << count << " at " << i;
        ASSERT_EQ(left[i], Compute(op, one, y[i])) << count << " at " << i;
        ASSERT_EQ(right[i], Compute(op, x[i], one)) << count << " at " << i;
      }
    }
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
}  // namespace sluice::operators::math
