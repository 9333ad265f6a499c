#include "sluice/operators/math/binary/binary_row.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/operators/binary/binary_domain.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

template <typename T>
bool HasFloats(const BinaryRow& row) {
  return row.Of(kDTypeOf<T>).forward.both != nullptr &&
         row.info.result == BinaryResult::kSame;
}

// `count` evenly spaced numbers from -reach to reach, in the range of the
// operand's examples.
template <typename T>
std::vector<T> Line(BinaryDomain domain,
                    double reach,
                    int64_t count,
                    int64_t from) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i) {
    const double place = static_cast<double>(2 * ((i + from) % count) - count) /
                         static_cast<double>(count);
    values[i] =
        static_cast<T>(testing::InBinaryDomain(domain, reach * place, false));
  }
  return values;
}

// The error of `got` in units in the last place.
template <typename T>
double Error(T got, double want) {
  const auto rounded = static_cast<T>(want);
  if (got == rounded || (std::isnan(rounded) && std::isnan(got))) return 0;
  if (std::isinf(rounded) || std::isinf(got)) return 1e9;
  const T size = std::abs(rounded);
  const T unit =
      std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::abs(got - want) / unit);
}

template <typename T>
class BinaryRowTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BinaryRowTest, Types);

TYPED_TEST(BinaryRowTest, FunctionsAreWithinTheirUnits) {
  using T = TypeParam;
  constexpr int64_t kCount = 5003;
  for (const BinaryRow& row : BinaryRows()) {
    if (!HasFloats<T>(row)) continue;
    SCOPED_TRACE(row.info.name);
    const auto x = Line<T>(row.info.x_domain, 3, kCount, 0);
    const auto y = Line<T>(row.info.y_domain, 3, kCount, 1234);
    std::vector<T> out(kCount);
    row.Of(kDTypeOf<T>).forward.both(x.data(), y.data(), kCount, out.data());
    double worst = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      worst = std::max(worst, Error(out[i], row.info.reference(x[i], y[i])));
    }
    EXPECT_LE(worst, row.info.units + 0.5);
  }
}

// Numbers of any bits, and of like sizes; infinities, NaN and zeros are there.
TYPED_TEST(BinaryRowTest, FmodHasTheBitsOfTheLibrary) {
  using T = TypeParam;
  constexpr int64_t kCount = 200'003;
  const T infinity = std::numeric_limits<T>::infinity();
  const T least = std::numeric_limits<T>::denorm_min();
  const std::vector<T> special = {0,     -T{0},  infinity, -infinity,
                                  least, -least, T{0} / 0, 1};
  std::mt19937_64 random(5);
  std::vector<T> x(kCount), y(kCount), out(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    for (T* value : {&x[i], &y[i]}) {
      const uint64_t bits = random();
      std::memcpy(value, &bits, sizeof(T));
      if (i % 2 == 0) *value = static_cast<T>(static_cast<int64_t>(bits) >> 33);
      if (i % 7 == 0) *value /= 1 << (bits % 30);
      if (bits % 31 == 0) *value = special[bits / 31 % special.size()];
    }
    if (i % 11 == 0) x[i] = y[i] * static_cast<T>(i % 1000);
  }
  for (const BinaryRow& row : BinaryRows()) {
    if (row.info.name != std::string("elementwise_fmod")) continue;
    row.Of(kDTypeOf<T>).forward.both(x.data(), y.data(), kCount, out.data());
  }
  for (int64_t i = 0; i < kCount; ++i) {
    const T want = std::fmod(x[i], y[i]);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(out[i])) << x[i] << " " << y[i];
    } else {
      ASSERT_EQ(std::memcmp(&want, &out[i], sizeof(T)), 0)
          << x[i] << " and " << y[i] << ": " << out[i] << ", not " << want;
    }
  }
}

TYPED_TEST(BinaryRowTest, EveryRowForEveryLengthAndSide) {
  using T = TypeParam;
  for (const BinaryRow& row : BinaryRows()) {
    if (!HasFloats<T>(row)) continue;
    const BinaryLoops& loops = row.Of(kDTypeOf<T>).forward;
    const auto x = Line<T>(row.info.x_domain, 3, 140, 0);
    const auto y = Line<T>(row.info.y_domain, 3, 140, 77);
    for (int64_t count = 0; count < 70; ++count) {
      SCOPED_TRACE(std::string(row.info.name) + " of " + std::to_string(count));
      const T* some_x = x.data() + 70;
      const T* some_y = y.data() + 70;
      std::vector<T> both(count + 1, T{-7}), left = both, right = both;
      loops.both(some_x, some_y, count, both.data());
      loops.left(some_x, some_y, count, left.data());
      loops.right(some_x, some_y, count, right.data());
      const auto expect = [&](T got, T a, T b) {
        T one = 0;
        loops.both(&a, &b, 1, &one);
        ASSERT_EQ(std::memcmp(&got, &one, sizeof(T)), 0) << got << " " << one;
      };
      for (int64_t i = 0; i < count; ++i) {
        expect(both[i], some_x[i], some_y[i]);
        expect(left[i], some_x[0], some_y[i]);
        expect(right[i], some_x[i], some_y[0]);
      }
      EXPECT_EQ(both.back(), T{-7});
      EXPECT_EQ(left.back(), T{-7});
      EXPECT_EQ(right.back(), T{-7});
    }
  }
}

TYPED_TEST(BinaryRowTest, GradientsForEveryLengthAndSide) {
  using T = TypeParam;
  for (const BinaryRow& row : BinaryRows()) {
    const BinaryFunctions& functions = row.Of(kDTypeOf<T>);
    const auto x = Line<T>(row.info.x_domain, 3, 40, 0);
    const auto y = Line<T>(row.info.y_domain, 3, 40, 17);
    const auto grad = Line<T>(BinaryDomain::kBeyondOne, 3, 40, 5);
    const auto out = Line<T>(BinaryDomain::kBeyondOne, 3, 40, 9);
    for (const auto* loops : {&functions.x_terms, &functions.y_terms}) {
      if (loops->both == nullptr) continue;
      for (int64_t count = 0; count < 40; ++count) {
        SCOPED_TRACE(std::string(row.info.name) + " of " +
                     std::to_string(count));
        std::vector<T> both(count + 1, T{-7}), left = both, right = both;
        const auto run = [&](auto loop, std::vector<T>* terms) {
          loop(grad.data(), x.data(), y.data(), out.data(), count,
               terms->data());
        };
        run(loops->both, &both);
        run(loops->left, &left);
        run(loops->right, &right);
        const auto expect = [&](T got, int64_t i, const T& a, const T& b) {
          T one = 0;
          loops->both(&grad[i], &a, &b, &out[i], 1, &one);
          ASSERT_EQ(std::memcmp(&got, &one, sizeof(T)), 0) << got << " " << one;
        };
        for (int64_t i = 0; i < count; ++i) {
          expect(both[i], i, x[i], y[i]);
          expect(left[i], i, x[0], y[i]);
          expect(right[i], i, x[i], y[0]);
        }
        EXPECT_EQ(both.back(), T{-7});
        EXPECT_EQ(left.back(), T{-7});
        EXPECT_EQ(right.back(), T{-7});
      }
    }
  }
}

TYPED_TEST(BinaryRowTest, WorksInPlace) {
  using T = TypeParam;
  const BinaryLoops& sub =
      FindBinaryRow("elementwise_sub")->Of(kDTypeOf<T>).forward;
  std::vector<T> x(77, T{5}), y(77, T{3});
  sub.both(x.data(), y.data(), 77, x.data());
  EXPECT_EQ(x, std::vector<T>(77, T{2}));
  sub.both(x.data(), y.data(), 77, y.data());
  EXPECT_EQ(y, std::vector<T>(77, T{-1}));
}

// Results at the usual exponents need no library: they are pow's at its edges,
// and do not depend on what is beside them.
TYPED_TEST(BinaryRowTest, PowersOfUsualExponents) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> xs = {0,         -T{0},      1,   -1, 2,
                             -2,        T{0.3},     9,   -9, T{3e-30},
                             kInfinity, -kInfinity, kNaN};
  const auto pow = FindBinaryRow("elementwise_pow")->Of(kDTypeOf<T>).forward;
  for (const T y : {T{0.5}, T{2}, T{-1}, T{1}}) {
    std::vector<T> alone(xs.size());
    pow.right(xs.data(), &y, std::ssize(xs), alone.data());
    std::vector<T> ys(xs.size(), y), mixed(xs.size());
    for (size_t i = 1; i < ys.size(); i += 2) {
      ys[i] = T{1.7};
    }
    pow.both(xs.data(), ys.data(), std::ssize(xs), mixed.data());
    for (size_t i = 0; i < xs.size(); ++i) {
      const T want = std::pow(xs[i], y);
      EXPECT_LE(Error(alone[i], want), 1) << xs[i] << "^" << y;
      EXPECT_TRUE(std::isnan(want) ||
                  std::signbit(alone[i]) == std::signbit(want))
          << xs[i] << "^" << y;
      const T beside = ys[i] == y ? alone[i] : std::pow(xs[i], ys[i]);
      EXPECT_LE(Error(mixed[i], beside), 0) << xs[i] << "^" << ys[i];
    }
  }
}

}  // namespace
}  // namespace sluice
