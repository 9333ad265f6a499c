#include "sluice/operators/math/activations.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::operators::math {
namespace {

using LongFunction = long double (*)(long double);

long double SigmoidOf(long double x) {
  return 1 / (1 + std::exp(-x));
}

// How many units in the last place `got` is off.
template <typename T>
double Error(T got, long double want) {
  const auto rounded = static_cast<T>(want);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  const T next = std::nextafter(std::abs(rounded), INFINITY);
  const T unit = next - std::abs(rounded);
  return static_cast<double>(std::abs(got - want) / unit);
}

template <typename T>
double WorstError(UnaryOp op, LongFunction function, double from, double to) {
  constexpr int64_t kCount = 200003;
  std::vector<T> x(kCount), out(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    x[i] = static_cast<T>(from + (to - from) * static_cast<double>(i) / kCount);
  }
  UnaryContiguous(op, x.data(), kCount, out.data());
  double worst = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    worst = std::max(worst, Error(out[i], function(x[i])));
  }
  return worst;
}

template <typename T>
class ActivationsTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ActivationsTest, Types);

TYPED_TEST(ActivationsTest, FunctionsAreWithinAFewUnits) {
  using T = TypeParam;
  const double end = sizeof(T) == 4 ? 90 : 711;
  EXPECT_LE(WorstError<T>(UnaryOp::kExp, std::exp, -end, end), 2);
  EXPECT_LE(WorstError<T>(UnaryOp::kExp, std::exp, -1, 1), 2);
  EXPECT_LE(WorstError<T>(UnaryOp::kSigmoid, SigmoidOf, -end, end), 4);
  EXPECT_LE(WorstError<T>(UnaryOp::kSigmoid, SigmoidOf, -5, 5), 4);
  EXPECT_LE(WorstError<T>(UnaryOp::kTanh, std::tanh, -20, 20), 4);
  EXPECT_LE(WorstError<T>(UnaryOp::kTanh, std::tanh, -0.5, 0.5), 4);
  EXPECT_LE(WorstError<T>(UnaryOp::kLog, std::log, 1e-30, 3), 4);
  EXPECT_LE(WorstError<T>(UnaryOp::kLog, std::log, 1, 1e30), 4);
}

TYPED_TEST(ActivationsTest, EndsOfTheRange) {
  using T = TypeParam;
  const T infinity = std::numeric_limits<T>::infinity();
  const auto of = [](UnaryOp op, T x) {
    T out;
    UnaryContiguous(op, &x, 1, &out);
    return out;
  };
  for (const UnaryOp op :
       {UnaryOp::kAbs, UnaryOp::kExp, UnaryOp::kLog, UnaryOp::kRelu,
        UnaryOp::kSigmoid, UnaryOp::kSqrt, UnaryOp::kSquare, UnaryOp::kTanh}) {
    EXPECT_TRUE(std::isnan(of(op, std::numeric_limits<T>::quiet_NaN())))
        << static_cast<int>(op);
  }
  EXPECT_EQ(of(UnaryOp::kExp, 1e30F), infinity);
  EXPECT_EQ(of(UnaryOp::kExp, infinity), infinity);
  EXPECT_EQ(of(UnaryOp::kExp, -infinity), 0);
  EXPECT_EQ(of(UnaryOp::kExp, -1e30F), 0);
  EXPECT_EQ(of(UnaryOp::kLog, 0), -infinity);
  EXPECT_EQ(of(UnaryOp::kLog, infinity), infinity);
  EXPECT_TRUE(std::isnan(of(UnaryOp::kLog, -1)));
  EXPECT_EQ(of(UnaryOp::kSigmoid, infinity), 1);
  EXPECT_EQ(of(UnaryOp::kSigmoid, -infinity), 0);
  EXPECT_EQ(of(UnaryOp::kTanh, infinity), 1);
  EXPECT_EQ(of(UnaryOp::kTanh, -infinity), -1);
}

TYPED_TEST(ActivationsTest, WhereAnElementStandsDoesNotMatter) {
  using T = TypeParam;
  for (const UnaryOp op : {UnaryOp::kExp, UnaryOp::kSigmoid, UnaryOp::kTanh}) {
    std::vector<T> x(70), all(70);
    for (int i = 0; i < 70; ++i) {
      x[i] = static_cast<T>(i - 35) / 7;
    }
    UnaryContiguous(op, x.data(), 70, all.data());
    for (int count = 0; count < 70; ++count) {
      std::vector<T> some(count + 1, T{-7});
      UnaryContiguous(op, x.data() + 70 - count, count, some.data());
      for (int i = 0; i < count; ++i) {
        ASSERT_EQ(some[i], all[70 - count + i]) << count;
      }
      EXPECT_EQ(some.back(), T{-7});
    }
  }
}

TYPED_TEST(ActivationsTest, WorksInPlace) {
  using T = TypeParam;
  std::vector<T> x(37, T{-2}), grad(37, T{3});
  UnaryContiguous(UnaryOp::kSquare, x.data(), 37, x.data());
  EXPECT_EQ(x, std::vector<T>(37, T{4}));
  UnaryGradContiguous(UnaryOp::kSqrt, x.data(), grad.data(), 37, grad.data());
  EXPECT_EQ(grad, std::vector<T>(37, T{0.375}));
}

}  // namespace
}  // namespace sluice::operators::math
