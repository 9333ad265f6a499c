#include "sluice/operators/math/unary/unary_row.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/operators/unary/domain.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

UnaryParams Defaults(const UnaryInfo& info) {
  return {info.attributes[0].default_value, info.attributes[1].default_value};
}

// The error of `got` in units in the last place, of `scale` if the result is
// smaller.
template <typename T>
double Error(T got, double want, double scale) {
  const auto rounded = static_cast<T>(want);
  if (std::isnan(rounded) && std::isnan(got)) return 0;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  const T size = std::max(std::abs(rounded), static_cast<T>(scale));
  const T unit = std::nextafter(size, INFINITY) - size;
  return static_cast<double>(std::abs(got - want) / unit);
}

template <typename T>
class UnaryRowTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(UnaryRowTest, Types);

TYPED_TEST(UnaryRowTest, FunctionsAreWithinTheirUnits) {
  using T = TypeParam;
  constexpr int64_t kCount = 20003;
  std::vector<T> x(kCount), out(kCount);
  for (const UnaryRow& row : UnaryRows()) {
    const UnaryInfo& info = row.info;
    const UnaryParams params = Defaults(info);
    for (const double reach : {0.7, 20.0, 700.0}) {
      SCOPED_TRACE(std::string(info.name) + " up to " + std::to_string(reach));
      for (int64_t i = 0; i < kCount; ++i) {
        const double place = static_cast<double>(2 * i - kCount) / kCount;
        x[i] = static_cast<T>(testing::InDomain(info.domain, reach * place));
      }
      row.Loops<T>().forward(x.data(), kCount, params, out.data());
      double worst = 0;
      for (int64_t i = 0; i < kCount; ++i) {
        worst = std::max(
            worst, Error(out[i], info.reference(x[i], params), info.scale));
      }
      // The reference is itself rounded; float64 is compared with it, too.
      EXPECT_LE(worst, info.units + 1);
    }
  }
}

// The bounds that simd_math-inl.h states, in ulps of the exact result, for
// numbers of every size, denormals included. Their references are in float64.
TEST(UnaryRowsOfFloat32, AreWithinTheBoundsOfTheVectorFormulas) {
  struct Bound {
    const char* row;
    double ulps;
  };
  constexpr Bound kBounds[] = {
      {"exp", 1.5},     {"expm1", 2},    {"log", 1},        {"log1p", 1.5},
      {"tanh", 2.5},    {"erf", 6},      {"sin", 0.6},      {"cos", 0.6},
      {"sigmoid", 2.5}, {"softplus", 2}, {"logsigmoid", 2}, {"elu", 2}};
  constexpr uint32_t kStep = 4999;
  std::vector<float> x;
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += kStep) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  x.insert(x.end(), {4.2e8F, -4.3e8F, 3e38F, INFINITY, -INFINITY, 88.7F});
  std::vector<float> out(x.size());
  for (const Bound& bound : kBounds) {
    const UnaryRow& row = *FindUnaryRow(bound.row);
    const UnaryParams params = Defaults(row.info);
    row.float32.forward(x.data(), std::ssize(x), params, out.data());
    double worst = 0;
    float where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error =
          Error(out[i], row.info.reference(double{x[i]}, params), 0);
      if (error > worst) where = x[i];
      worst = std::max(worst, error);
    }
    EXPECT_LE(worst, bound.ulps) << bound.row << " of " << where;
  }
  for (const char* name : {"erf", "tanh", "sin", "expm1", "log1p"}) {
    const float zero = -0.0F;
    float result = 1;
    FindUnaryRow(name)->float32.forward(&zero, 1, {}, &result);
    EXPECT_TRUE(result == 0 && std::signbit(result)) << name;
  }
}

TYPED_TEST(UnaryRowTest, NaNStaysNaN) {
  using T = TypeParam;
  for (const UnaryRow& row : UnaryRows()) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    T out = 0;
    row.Loops<T>().forward(&nan, 1, Defaults(row.info), &out);
    EXPECT_TRUE(std::isnan(out)) << row.info.name;
  }
}

TYPED_TEST(UnaryRowTest, EndsOfTheRange) {
  using T = TypeParam;
  const T infinity = std::numeric_limits<T>::infinity();
  const auto of = [](const char* name, T x) {
    T out;
    const UnaryRow& row = *FindUnaryRow(name);
    row.Loops<T>().forward(&x, 1, Defaults(row.info), &out);
    return out;
  };
  EXPECT_EQ(of("exp", 1e30F), infinity);
  EXPECT_EQ(of("exp", infinity), infinity);
  EXPECT_EQ(of("exp", -infinity), 0);
  EXPECT_EQ(of("exp", -1e30F), 0);
  EXPECT_EQ(of("log", 0), -infinity);
  EXPECT_EQ(of("log", infinity), infinity);
  EXPECT_TRUE(std::isnan(of("log", -1)));
  EXPECT_EQ(of("sigmoid", infinity), 1);
  EXPECT_EQ(of("sigmoid", -infinity), 0);
  EXPECT_EQ(of("logsigmoid", -infinity), -infinity);
  EXPECT_EQ(of("logsigmoid", infinity), 0);
  EXPECT_EQ(of("softplus", infinity), infinity);
  EXPECT_EQ(of("softplus", -infinity), 0);
  EXPECT_EQ(of("tanh", infinity), 1);
  EXPECT_EQ(of("tanh", -infinity), -1);
  EXPECT_EQ(of("elu", -infinity), -1);
  EXPECT_EQ(of("hard_swish", -infinity), 0);
  EXPECT_EQ(of("hard_swish", infinity), infinity);
  EXPECT_EQ(of("gelu", infinity), infinity);
}

// Neighbours of an element and its position in a vector have no effect.
TYPED_TEST(UnaryRowTest, WhereAnElementStandsDoesNotMatter) {
  using T = TypeParam;
  for (const UnaryRow& row : UnaryRows()) {
    const UnaryParams params = Defaults(row.info);
    std::vector<T> x(70), all(70);
    for (int i = 0; i < 70; ++i) {
      x[i] = static_cast<T>(
          testing::InDomain(row.info.domain, static_cast<double>(i - 35) / 7));
    }
    row.Loops<T>().forward(x.data(), 70, params, all.data());
    for (int count = 0; count < 70; count += 3) {
      std::vector<T> some(count + 1, T{-7});
      row.Loops<T>().forward(x.data() + 70 - count, count, params, some.data());
      ASSERT_EQ(std::memcmp(some.data(), all.data() + 70 - count,
                            static_cast<size_t>(count) * sizeof(T)),
                0)
          << row.info.name << " of " << count;
      EXPECT_EQ(some.back(), T{-7});
    }
  }
}

TYPED_TEST(UnaryRowTest, WorksInPlace) {
  using T = TypeParam;
  std::vector<T> x(37, T{-2}), grad(37, T{3});
  FindUnaryRow("square")->Loops<T>().forward(x.data(), 37, {}, x.data());
  EXPECT_EQ(x, std::vector<T>(37, T{4}));
  FindUnaryRow("sqrt")->Loops<T>().gradient(x.data(), grad.data(), 37, {},
                                            grad.data());
  EXPECT_EQ(grad, std::vector<T>(37, T{0.375}));
}

}  // namespace
}  // namespace sluice
