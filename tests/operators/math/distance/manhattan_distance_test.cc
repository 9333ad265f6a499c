#include "sluice/operators/math/distance/manhattan_distance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

struct Sizes {
  int64_t n, m, p;
};

// Sizes around the edges of vectors, tiles, panels and blocks of features.
const Sizes kSizes[] = {
    {1, 1, 1},   {1, 17, 3},   {5, 1, 2},     {3, 5, 7},     {4, 64, 16},
    {9, 33, 4},  {7, 65, 129}, {67, 129, 31}, {34, 16, 257}, {130, 70, 128},
    {2, 300, 5}, {300, 2, 9},  {129, 131, 19}};

template <typename T>
std::vector<T> Random(int64_t count, unsigned seed, double offset = 0) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values(count);
  for (T& value : values) {
    value = static_cast<T>(uniform(engine) + offset);
  }
  return values;
}

// Few different values, so that many differences are 0.
template <typename T>
std::vector<T> RandomSteps(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    value = static_cast<T>(engine() % 5) - T{2};
  }
  return values;
}

template <typename T>
double Sign(T x, T y) {
  return x > y ? 1 : x < y ? -1 : 0;
}

template <typename T>
class ManhattanDistanceTest : public ::testing::Test {
 protected:
  using Function = void (*)(const T*, const T*, T*, int64_t, int64_t, int64_t);
  using GradFunction =
      void (*)(const T*, const T*, const T*, T*, T*, int64_t, int64_t, int64_t);
  static constexpr double kTolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;

  void ExpectDistances(Function function, const Sizes& s, double offset) {
    const auto x = Random<T>(s.n * s.p, 1, offset);
    const auto y = Random<T>(s.m * s.p, 2, offset);
    // One element more, to detect a write past the end.
    std::vector<T> z(s.n * s.m + 1, T{-7});
    function(x.data(), y.data(), z.data(), s.n, s.m, s.p);
    for (int64_t i = 0; i < s.n; ++i) {
      for (int64_t j = 0; j < s.m; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < s.p; ++k) {
          sum += std::abs(double{x[i * s.p + k]} - double{y[j * s.p + k]});
        }
        ASSERT_NEAR(z[i * s.m + j], sum, kTolerance * sum)
            << s.n << "x" << s.m << "x" << s.p << " at " << i << ", " << j;
      }
    }
    EXPECT_EQ(z.back(), T{-7});
  }

  void ExpectGradients(GradFunction function, const Sizes& s) {
    const auto x = RandomSteps<T>(s.n * s.p, 3),
               y = RandomSteps<T>(s.m * s.p, 4);
    const auto gz = Random<T>(s.n * s.m, 5);
    std::vector<double> gx(s.n * s.p), gy(s.m * s.p);
    for (int64_t i = 0; i < s.n; ++i) {
      for (int64_t j = 0; j < s.m; ++j) {
        for (int64_t k = 0; k < s.p; ++k) {
          const double change =
              double{gz[i * s.m + j]} * Sign(x[i * s.p + k], y[j * s.p + k]);
          gx[i * s.p + k] += change;
          gy[j * s.p + k] -= change;
        }
      }
    }
    std::vector<T> both_x(gx.size() + 1, T{-7}), both_y(gy.size() + 1, T{-7});
    auto only_x = both_x, only_y = both_y;
    function(x.data(), y.data(), gz.data(), both_x.data(), both_y.data(), s.n,
             s.m, s.p);
    function(x.data(), y.data(), gz.data(), only_x.data(), nullptr, s.n, s.m,
             s.p);
    function(x.data(), y.data(), gz.data(), nullptr, only_y.data(), s.n, s.m,
             s.p);
    for (size_t i = 0; i < gx.size(); ++i) {
      ASSERT_NEAR(both_x[i], gx[i], kTolerance * s.m);
    }
    for (size_t i = 0; i < gy.size(); ++i) {
      ASSERT_NEAR(both_y[i], gy[i], kTolerance * s.n);
    }
    EXPECT_EQ(both_x, only_x);
    EXPECT_EQ(both_y, only_y);
    EXPECT_EQ(both_x.back(), T{-7});
    EXPECT_EQ(both_y.back(), T{-7});
  }
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ManhattanDistanceTest, Types);

TYPED_TEST(ManhattanDistanceTest, BlockedMatchesTheFormula) {
  ThreadCountGuard guard(2);
  for (const Sizes& sizes : kSizes) {
    this->ExpectDistances(ManhattanDistanceBlocked<TypeParam>, sizes, 0);
  }
}

TYPED_TEST(ManhattanDistanceTest, PlainMatchesTheFormula) {
  for (const Sizes& sizes : kSizes) {
    this->ExpectDistances(ManhattanDistancePlain<TypeParam>, sizes, 0);
  }
}

TYPED_TEST(ManhattanDistanceTest, AnOffsetCostsNoAccuracy) {
  for (const Sizes& sizes : {Sizes{20, 70, 784}, Sizes{3, 5, 40000}}) {
    this->ExpectDistances(ManhattanDistanceBlocked<TypeParam>, sizes, 1e4);
    this->ExpectDistances(ManhattanDistancePlain<TypeParam>, sizes, 1e4);
  }
}

// Equal terms are rounded the same way all along.
TYPED_TEST(ManhattanDistanceTest, LongSumsOfEqualTermsStayAccurate) {
  const int64_t p = 100'000;
  const std::vector<TypeParam> x(p, TypeParam{0.1f}), y(p, TypeParam{0});
  TypeParam z = 0;
  ManhattanDistanceBlocked(x.data(), y.data(), &z, 1, 1, p);
  const double expected = double{TypeParam{0.1f}} * p;
  EXPECT_NEAR(z, expected, this->kTolerance * 10 * expected);
}

TYPED_TEST(ManhattanDistanceTest, NoFeaturesGiveZeros) {
  for (auto function : {ManhattanDistanceBlocked<TypeParam>,
                        ManhattanDistancePlain<TypeParam>}) {
    std::vector<TypeParam> z(6, TypeParam{-7});
    function(nullptr, nullptr, z.data(), 2, 3, 0);
    EXPECT_EQ(z, std::vector<TypeParam>(6, TypeParam{0}));
  }
}

TYPED_TEST(ManhattanDistanceTest, NoRowsWriteNothing) {
  const std::vector<TypeParam> rows(12, TypeParam{1});
  for (auto function : {ManhattanDistanceBlocked<TypeParam>,
                        ManhattanDistancePlain<TypeParam>}) {
    TypeParam z = -7;
    function(nullptr, rows.data(), &z, 0, 3, 4);
    function(rows.data(), nullptr, &z, 3, 0, 4);
    EXPECT_EQ(z, TypeParam{-7});
  }
}

TYPED_TEST(ManhattanDistanceTest, ANanShowsWhereItIsAndNowhereElse) {
  const Sizes s{9, 70, 20};
  auto x = Random<TypeParam>(s.n * s.p, 1), y = Random<TypeParam>(s.m * s.p, 2);
  x[4 * s.p + 3] = std::numeric_limits<TypeParam>::quiet_NaN();
  y[66 * s.p + 19] = std::numeric_limits<TypeParam>::quiet_NaN();
  for (auto function : {ManhattanDistanceBlocked<TypeParam>,
                        ManhattanDistancePlain<TypeParam>}) {
    std::vector<TypeParam> z(s.n * s.m);
    function(x.data(), y.data(), z.data(), s.n, s.m, s.p);
    for (int64_t i = 0; i < s.n; ++i) {
      for (int64_t j = 0; j < s.m; ++j) {
        EXPECT_EQ(std::isnan(z[i * s.m + j]), i == 4 || j == 66);
      }
    }
  }
}

TYPED_TEST(ManhattanDistanceTest, TheNumberOfThreadsChangesNoBit) {
  const Sizes s{301, 203, 150};
  const auto x = Random<TypeParam>(s.n * s.p, 1);
  const auto y = Random<TypeParam>(s.m * s.p, 2);
  const auto gz = Random<TypeParam>(s.n * s.m, 3);
  std::vector<TypeParam> z[3], gx[3], gy[3];
  for (int i = 0; i < 3; ++i) {
    // With 7 threads the gradients are computed one after the other.
    ThreadCountGuard guard(i == 0 ? 1 : i == 1 ? 2 : 7);
    z[i].resize(s.n * s.m);
    gx[i].resize(s.n * s.p);
    gy[i].resize(s.m * s.p);
    ManhattanDistanceBlocked(x.data(), y.data(), z[i].data(), s.n, s.m, s.p);
    ManhattanDistanceGradBlocked(x.data(), y.data(), gz.data(), gx[i].data(),
                                 gy[i].data(), s.n, s.m, s.p);
  }
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ(z[0], z[i]);
    EXPECT_EQ(gx[0], gx[i]);
    EXPECT_EQ(gy[0], gy[i]);
  }
}

TYPED_TEST(ManhattanDistanceTest, BlockedGradientMatchesTheFormula) {
  ThreadCountGuard guard(2);
  for (const Sizes& sizes : kSizes) {
    this->ExpectGradients(ManhattanDistanceGradBlocked<TypeParam>, sizes);
  }
}

TYPED_TEST(ManhattanDistanceTest, PlainGradientMatchesTheFormula) {
  for (const Sizes& sizes : kSizes) {
    this->ExpectGradients(ManhattanDistanceGradPlain<TypeParam>, sizes);
  }
}

TYPED_TEST(ManhattanDistanceTest, GradientOverNoRowsIsZero) {
  const std::vector<TypeParam> rows(6, TypeParam{1});
  for (auto function : {ManhattanDistanceGradBlocked<TypeParam>,
                        ManhattanDistanceGradPlain<TypeParam>}) {
    std::vector<TypeParam> grad(6, TypeParam{-7});
    const std::vector<TypeParam> zeros(6, TypeParam{0});
    function(rows.data(), nullptr, nullptr, grad.data(), nullptr, 2, 0, 3);
    EXPECT_EQ(grad, zeros);
    grad.assign(6, TypeParam{-7});
    function(nullptr, rows.data(), nullptr, nullptr, grad.data(), 0, 2, 3);
    EXPECT_EQ(grad, zeros);
  }
}

TYPED_TEST(ManhattanDistanceTest, GradientOfANanDifferenceIsZero) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  const std::vector<TypeParam> x = {nan, 1}, y = {0, 0}, gz = {2};
  for (auto function : {ManhattanDistanceGradBlocked<TypeParam>,
                        ManhattanDistanceGradPlain<TypeParam>}) {
    std::vector<TypeParam> gx(2), gy(2);
    function(x.data(), y.data(), gz.data(), gx.data(), gy.data(), 1, 1, 2);
    EXPECT_EQ(gx, (std::vector<TypeParam>{0, 2}));
    EXPECT_EQ(gy, (std::vector<TypeParam>{0, -2}));
  }
}

}  // namespace
}  // namespace sluice
