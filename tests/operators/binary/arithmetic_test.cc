#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;
using testing::InferOpShapes;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor Add(const Tensor& x, const Tensor& y, int64_t axis = -1) {
  return RunOp("elementwise_add", {{"X", x}, {"Y", y}}, {{"axis", axis}})
      .at("Out");
}

template <typename T>
class ElementwiseAddTest : public ::testing::Test {};
using Numbers =
    ::testing::Types<float, double, int8_t, uint8_t, int32_t, int64_t>;
TYPED_TEST_SUITE(ElementwiseAddTest, Numbers);

TYPED_TEST(ElementwiseAddTest, AddsTensorsOfOneShape) {
  using T = TypeParam;
  const auto x = Tensor::FromVector<T>({2, 2}, {1, 2, 3, 4});
  const auto y = Tensor::FromVector<T>({2, 2}, {10, 20, 30, 40});
  const Tensor out = Add(x, y);
  EXPECT_EQ(out.dims(), DDim({2, 2}));
  EXPECT_EQ(out.ToVector<T>(), (std::vector<T>{11, 22, 33, 44}));
}

TYPED_TEST(ElementwiseAddTest, RepeatsEitherSide) {
  using T = TypeParam;
  const auto column = Tensor::FromVector<T>({2, 1}, {1, 2});
  const auto row = Tensor::FromVector<T>({3}, {10, 20, 30});
  const std::vector<T> sum{11, 21, 31, 12, 22, 32};
  EXPECT_EQ(Add(column, row).template ToVector<T>(), sum);
  EXPECT_EQ(Add(row, column).template ToVector<T>(), sum);
}

TEST(ElementwiseAdd, IntegersWrapAround) {
  const auto x =
      Tensor::FromVector<int64_t>({1}, {std::numeric_limits<int64_t>::max()});
  const auto y = Tensor::FromVector<int64_t>({1}, {1});
  EXPECT_EQ(Add(x, y).ToVector<int64_t>()[0],
            std::numeric_limits<int64_t>::min());
  const auto small = Tensor::FromVector<int8_t>({1}, {127});
  EXPECT_EQ(Add(small, small).ToVector<int8_t>()[0], -2);
}

TEST(ElementwiseAdd, HalvesRoundToTheNearest) {
  // 2048 + 1 is half-way between two float16, and rounds to the even one.
  const float16 one{0x3C00};
  const float16 big{0x6800};
  const auto x = Tensor::FromVector<float16>({2}, {one, big});
  const auto y = Tensor::FromVector<float16>({2}, {one, one});
  EXPECT_EQ(Add(x, y).ToVector<float16>(),
            (std::vector<float16>{{0x4000}, {0x6800}}));
  const bfloat16 half{0x3F00};
  const auto b = Tensor::FromVector<bfloat16>({1}, {half});
  EXPECT_EQ(Add(b, b).ToVector<bfloat16>(), (std::vector<bfloat16>{{0x3F80}}));
}

TEST(ElementwiseAdd, InfersUnknownShapes) {
  EXPECT_EQ(
      InferOpShapes("elementwise_add", {{"X", {-1, 3}}, {"Y", {3}}}).at("Out"),
      DDim({-1, 3}));
  EXPECT_FALSE(
      InferOpShapes("elementwise_add", {{"X", DDim::UnknownRank()}, {"Y", {3}}})
          .at("Out")
          .rank_known());
}

TEST(ElementwiseAdd, RefusesShapesThatDoNotFit) {
  const auto x = Tensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto y = Tensor::FromVector<float>({2}, {1, 2});
  ExpectError(ErrorCode::kInvalidArgument, "elementwise.shapes",
              {"elementwise_add", "[2, 3]", "[2]", "dim 1"},
              [&] { Add(x, y); });
  ExpectError(ErrorCode::kInvalidArgument, "elementwise.axis",
              {"elementwise_add", "axis = 2", "[2, 3]", "<= 2"},
              [&] { Add(x, y, 2); });
  EXPECT_EQ(Add(x, y, 0).dims(), DDim({2, 3}));
}

template <typename T>
std::vector<T> Apply(const std::string& op,
                     const std::vector<T>& x,
                     const std::vector<T>& y) {
  const DDim dims({static_cast<int64_t>(x.size())});
  const Tensor out = RunOp(op, {{"X", Tensor::FromVector(dims, x)},
                                {"Y", Tensor::FromVector(dims, y)}})["Out"];
  return out.ToVector<T>();
}

using Floats = std::vector<float>;

TEST(Arithmetic, DivisionsByZeroFollowIeee) {
  const auto quotient = Apply<float>("elementwise_div", {1, -1, 0}, {0, 0, 0});
  EXPECT_EQ(quotient[0], kInfinity);
  EXPECT_EQ(quotient[1], -kInfinity);
  EXPECT_TRUE(std::isnan(quotient[2]));
  const auto down = Apply<float>("elementwise_floordiv", {1, -1, 0}, {0, 0, 0});
  EXPECT_EQ(down[0], kInfinity);
  EXPECT_EQ(down[1], -kInfinity);
  EXPECT_TRUE(std::isnan(down[2]));
  EXPECT_TRUE(std::isnan(Apply<float>("elementwise_mod", {1}, {0})[0]));
  EXPECT_TRUE(std::isnan(Apply<float>("elementwise_fmod", {1}, {0})[0]));
}

TEST(Arithmetic, RestsOfInfiniteDivisorsAreAsInNumpy) {
  EXPECT_EQ(Apply<float>("elementwise_mod", {1, -1}, {kInfinity, kInfinity}),
            (Floats{1, kInfinity}));
  EXPECT_EQ(
      Apply<float>("elementwise_floordiv", {1, -1}, {kInfinity, kInfinity}),
      (Floats{0, -1}));
}

// A quotient that rounds up to a whole number is not one.
TEST(Arithmetic, QuotientAndRestBelongTogether) {
  EXPECT_EQ(Apply<double>("elementwise_floordiv", {1}, {0.1})[0], 9);
  EXPECT_NEAR(Apply<double>("elementwise_mod", {1}, {0.1})[0], 0.1, 1e-15);
}

TEST(Arithmetic, NanInEitherOperandStays) {
  for (const char* op :
       {"elementwise_add", "elementwise_sub", "elementwise_mul",
        "elementwise_div", "elementwise_max", "elementwise_min",
        "elementwise_pow", "elementwise_mod", "elementwise_fmod",
        "elementwise_floordiv", "atan2"}) {
    for (const float other : {-2.0F, 2.0F, kInfinity}) {
      EXPECT_TRUE(std::isnan(Apply<float>(op, {kNan}, {other})[0])) << op;
      EXPECT_TRUE(std::isnan(Apply<float>(op, {other}, {kNan})[0])) << op;
    }
  }
  EXPECT_TRUE(std::isnan(Apply<float>("prelu", {kNan}, {2})[0]));
  EXPECT_TRUE(std::isnan(Apply<float>("prelu", {-2}, {kNan})[0]));
}

// As in IEEE 754 and every library.
TEST(Arithmetic, PowersThatAreOneWhateverTheOtherNumber) {
  EXPECT_EQ(Apply<float>("elementwise_pow", {kNan, 1}, {0, kNan}),
            (Floats{1, 1}));
}

template <typename T>
class IntegerArithmetic : public ::testing::Test {};
using Integers = ::testing::Types<int8_t,
                                  uint8_t,
                                  int32_t,
                                  int64_t,
                                  int16_t,
                                  uint16_t,
                                  uint32_t,
                                  uint64_t>;
TYPED_TEST_SUITE(IntegerArithmetic, Integers);

TYPED_TEST(IntegerArithmetic, DivisionsByZeroGiveZero) {
  using T = TypeParam;
  const std::vector<T> x = {7, 0, std::numeric_limits<T>::min()};
  const std::vector<T> zero = {0, 0, 0};
  EXPECT_EQ(Apply<T>("elementwise_mod", x, zero), zero);
  EXPECT_EQ(Apply<T>("elementwise_fmod", x, zero), zero);
  EXPECT_EQ(Apply<T>("elementwise_floordiv", x, zero), zero);
}

TYPED_TEST(IntegerArithmetic, TakesTheLargestAndTheLeastNumbers) {
  using T = TypeParam;
  constexpr T kLeast = std::numeric_limits<T>::min();
  constexpr T kMost = std::numeric_limits<T>::max();
  EXPECT_EQ(Apply<T>("elementwise_max", {kLeast, kMost}, {kMost, kLeast}),
            (std::vector<T>{kMost, kMost}));
  EXPECT_EQ(Apply<T>("elementwise_min", {kLeast, kMost}, {kMost, kLeast}),
            (std::vector<T>{kLeast, kLeast}));
  EXPECT_EQ(Apply<T>("elementwise_floordiv", {kMost, kMost}, {kMost, 2}),
            (std::vector<T>{1, kMost / 2}));
  EXPECT_EQ(Apply<T>("elementwise_mod", {kMost, kMost}, {kMost, 2}),
            (std::vector<T>{0, 1}));
}

TYPED_TEST(IntegerArithmetic, PowersAreProductsThatWrapAround) {
  using T = TypeParam;
  const T wrapped = static_cast<T>(uint64_t{3486784401});  // 3^20
  EXPECT_EQ(
      Apply<T>("elementwise_pow", {3, 0, 0, 5, 3, 2}, {4, 0, 3, 1, 20, 64}),
      (std::vector<T>{81, 1, 0, 5, wrapped, 0}));
}

TEST(Arithmetic, SignedIntegersRoundAsTheFloatsDo) {
  using Ints = std::vector<int32_t>;
  const Ints x = {7, -7, 7, -7, -6}, y = {3, 3, -3, -3, 3};
  EXPECT_EQ(Apply<int32_t>("elementwise_mod", x, y), (Ints{1, 2, -2, -1, 0}));
  EXPECT_EQ(Apply<int32_t>("elementwise_fmod", x, y), (Ints{1, -1, 1, -1, 0}));
  EXPECT_EQ(Apply<int32_t>("elementwise_floordiv", x, y),
            (Ints{2, -3, -3, 2, -2}));
}

template <typename T>
void ExpectLeastByMinusOneWraps() {
  constexpr T kLeast = std::numeric_limits<T>::min();
  EXPECT_EQ(Apply<T>("elementwise_floordiv", {kLeast}, {-1})[0], kLeast);
  EXPECT_EQ(Apply<T>("elementwise_mod", {kLeast}, {-1})[0], 0);
  EXPECT_EQ(Apply<T>("elementwise_fmod", {kLeast}, {-1})[0], 0);
}

TEST(Arithmetic, TheLeastIntegerByMinusOneWrapsAround) {
  ExpectLeastByMinusOneWraps<int8_t>();
  ExpectLeastByMinusOneWraps<int32_t>();
  ExpectLeastByMinusOneWraps<int64_t>();
}

TEST(Arithmetic, NegativePowersOfIntegersHaveNoFractions) {
  EXPECT_EQ(Apply<int64_t>("elementwise_pow", {1, -1, -1, 2, 0, -2},
                           {-5, -5, -4, -1, -1, -3}),
            (std::vector<int64_t>{1, -1, 1, 0, 0, 0}));
}

TEST(Arithmetic, SmallIntegersWrapAround) {
  EXPECT_EQ(Apply<uint8_t>("elementwise_mul", {200}, {200})[0], 64);
  EXPECT_EQ(Apply<int8_t>("elementwise_mul", {-128}, {-128})[0], 0);
  EXPECT_EQ(Apply<uint8_t>("elementwise_sub", {1}, {2})[0], 255);
}

TEST(Arithmetic, HalvesAreComputedInFloat) {
  // 2049 is no float16, so its square root is that of 2048 + 1 rounded once.
  const float16 two{0x4000}, nan{0x7E00}, three{0x4200};
  using Halves = std::vector<float16>;
  EXPECT_EQ(Apply<float16>("elementwise_pow", {three, two}, {two, three}),
            (Halves{{0x4880}, {0x4800}}));
  const auto max = Apply<float16>("elementwise_max", {nan, two}, {two, nan});
  for (const float16 value : max) {
    EXPECT_GT(value.bits & 0x7FFF, 0x7C00);
  }
}

struct Gradients {
  Floats x;
  Floats y;
};

Gradients GradientsOf(const std::string& op,
                      const Floats& x,
                      const Floats& y,
                      const Floats& out = {}) {
  const DDim dims({static_cast<int64_t>(x.size())});
  std::vector<std::pair<std::string, Tensor>> inputs = {
      {"X", Tensor::FromVector(dims, x)},
      {"Y", Tensor::FromVector(dims, y)},
      {"Out@GRAD", Tensor::FromVector(dims, Floats(x.size(), 1))}};
  if (!out.empty()) inputs.emplace_back("Out", Tensor::FromVector(dims, out));
  auto grads =
      RunOp(op + "_grad", inputs, {}, {.outputs = {"X@GRAD", "Y@GRAD"}});
  return {grads["X@GRAD"].ToVector<float>(), grads["Y@GRAD"].ToVector<float>()};
}

TEST(ArithmeticGrad, PowersAtTheEndsOfTheirRange) {
  const Gradients pow = GradientsOf("elementwise_pow", {0, 0, -2, 3, 0},
                                    {0, 2, 2, 0, -1}, {1, 0, 4, 1, kInfinity});
  EXPECT_EQ((Floats{pow.x[0], pow.x[1], pow.x[2], pow.x[3]}),
            (Floats{0, 0, -4, 0}));
  EXPECT_EQ(pow.x[4], -kInfinity);
  EXPECT_EQ((Floats{pow.y[0], pow.y[1]}), (Floats{0, 0}));
  EXPECT_TRUE(std::isnan(pow.y[2]));  // no logarithm
  EXPECT_EQ(pow.y[3], std::log(3.0F));
  EXPECT_EQ(pow.y[4], -kInfinity);
}

}  // namespace
}  // namespace sluice
