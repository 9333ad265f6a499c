#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor Quantize(const Tensor& x, const AttributeMap& attributes) {
  return RunOp("quantize_and_dequantize", {{"X", x}}, attributes).at("Out");
}

AttributeMap Range(double min, double max, int64_t num_bits = 8) {
  return {{"min", min}, {"max", max}, {"num_bits", num_bits}};
}

template <typename T>
class QuantizeTest : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(QuantizeTest, Floats);

TYPED_TEST(QuantizeTest, FollowsTheFormula) {
  using T = TypeParam;
  std::vector<T> x;
  for (int i = -300; i <= 300; ++i)
    x.push_back(static_cast<T>(i) / 97);
  const auto count = static_cast<int64_t>(x.size());
  const auto out = Quantize(Tensor::FromVector<T>({count}, x), Range(-1, 2, 4))
                       .template ToVector<T>();
  const T scale = T{15} / (T{2} - T{-1});
  for (size_t i = 0; i < x.size(); ++i) {
    const T clipped = std::min(std::max(x[i], T{-1}), T{2});
    EXPECT_EQ(out[i],
              std::floor((clipped - T{-1}) * scale + T{0.5}) / scale + T{-1})
        << x[i];
  }
}

TYPED_TEST(QuantizeTest, BoundsStayAndTheOutsideIsClipped) {
  using T = TypeParam;
  const auto x = Tensor::FromVector<T>({4}, {-5, 0, 1, 7});
  EXPECT_EQ(Quantize(x, Range(0, 1)).template ToVector<T>(),
            (std::vector<T>{0, 0, 1, 1}));
}

TYPED_TEST(QuantizeTest, TakesTheRangeFromTheData) {
  using T = TypeParam;
  const auto x = Tensor::FromVector<T>({4}, {10, 11.4, 12.6, 13});
  EXPECT_EQ(Quantize(x, {{"range_given", false}, {"num_bits", int64_t{2}}})
                .template ToVector<T>(),
            (std::vector<T>{10, 11, 13, 13}));
}

TEST(Quantize, NearestLevelsAreFoundWhereASumWithAHalfIsRounded) {
  const auto x = Tensor::FromVector<float>(
      {6}, {8388607.5F, 8388609, 12345677, 16777215, 0.49999997F, 0.5F});
  EXPECT_EQ(Quantize(x, Range(0, 16777215, 24)).ToVector<float>(),
            (std::vector<float>{8388608, 8388609, 12345677, 16777215, 0, 1}));
}

TEST(Quantize, NoElementComesOutAboveTheMaximum) {
  for (const float most : {1.0F, 0.1F, 3.3F, 1e-3F, 77.7F}) {
    for (int64_t bits = 1; bits <= 24; ++bits) {
      const auto x = Tensor::FromVector<float>({2}, {most, 2 * most});
      for (const float out :
           Quantize(x, Range(0, most, bits)).ToVector<float>())
        EXPECT_LE(out, most) << bits;
    }
  }
  EXPECT_EQ(Quantize(Tensor::FromVector<float>({1}, {1}), Range(0, 1, 24))
                .ToVector<float>()[0],
            1);
}

TEST(Quantize, OneBitHasTwoLevels) {
  const auto x = Tensor::FromVector<float>({4}, {0, 0.4F, 0.6F, 1});
  EXPECT_EQ(Quantize(x, Range(0, 1, 1)).ToVector<float>(),
            (std::vector<float>{0, 0, 1, 1}));
}

TEST(Quantize, Halves) {
  const auto x =
      Tensor::FromVector<float16>({2}, {{0x3C00}, {0x4400}});  // 1, 4
  EXPECT_EQ(Quantize(x, Range(0, 2)).ToVector<float16>(),
            (std::vector<float16>{{0x3C04}, {0x4000}}));
  const auto y = Tensor::FromVector<bfloat16>({1}, {{0x4080}});
  EXPECT_EQ(Quantize(y, Range(0, 2)).ToVector<bfloat16>(),
            (std::vector<bfloat16>{{0x4000}}));
}

TEST(Quantize, NaNStaysNaNAndInfinityIsClipped) {
  std::vector<float> values(40, 0.5F);
  values[3] = values[39] = static_cast<float>(kNaN);
  values[5] = static_cast<float>(kInfinity);
  values[6] = -values[5];
  const auto out =
      Quantize(Tensor::FromVector<float>({40}, values), Range(0, 1))
          .ToVector<float>();
  EXPECT_TRUE(std::isnan(out[3]));
  EXPECT_TRUE(std::isnan(out[39]));
  EXPECT_EQ(out[5], 1);
  EXPECT_EQ(out[6], 0);
}

TEST(Quantize, EmptyAndLarge) {
  const auto empty = Tensor::FromVector<float>({0, 2}, {});
  EXPECT_EQ(Quantize(empty, Range(0, 1)).dims(), DDim({0, 2}));
  EXPECT_EQ(Quantize(empty, {{"range_given", false}}).dims(), DDim({0, 2}));
  std::vector<float> values(100003, 0.5F);
  values[7] = -1;
  values[70000] = 1;
  const auto out = Quantize(Tensor::FromVector<float>({100003}, values),
                            {{"range_given", false}, {"num_bits", int64_t{1}}})
                       .ToVector<float>();
  EXPECT_EQ(out[7], -1);
  EXPECT_EQ(out[8], 1);
  EXPECT_EQ(out[70000], 1);
}

TEST(Quantize, RefusesBoundsThatMakeNoRange) {
  const auto x = Tensor::FromVector<float>({1}, {0.5F});
  const auto refused = [&](const AttributeMap& attributes) {
    ExpectError(ErrorCode::kInvalidArgument, "quantize_and_dequantize.range",
                {"quantize_and_dequantize", "min = ", "max = ", "min < max"},
                [&] { Quantize(x, attributes); });
  };
  refused(Range(1, 1));
  refused(Range(kNaN, 1));
  refused(Range(0, kNaN));
  refused(Range(2, 1));
  refused(Range(0, kInfinity));
  refused(Range(-3e38, 3e38));   // the width is no float32
  refused(Range(1, 1 + 1e-12));  // equal as float32
  refused(Range(0, 1e-44));      // the scale is no float32
  refused({});                   // min and max left out
  EXPECT_EQ(Quantize(x, Range(0, 0.5)).ToVector<float>()[0], 0.5F);
}

TEST(Quantize, WideTypesAllowWiderRanges) {
  const auto x = Tensor::FromVector<double>({1}, {0.5});
  EXPECT_EQ(Quantize(x, Range(-3e38, 3e38)).numel(), 1);
}

TEST(Quantize, RefusesDataThatMakesNoRange) {
  const AttributeMap from_data{{"range_given", false}};
  const auto refused = [&](std::vector<float> values) {
    const auto x = Tensor::FromVector<float>({3}, values);
    ExpectError(ErrorCode::kInvalidArgument,
                "quantize_and_dequantize.data_range",
                {"quantize_and_dequantize", "input X", "range_given = false"},
                [&] { Quantize(x, from_data); });
  };
  refused({2, 2, 2});
  refused({2, static_cast<float>(kNaN), 3});
  refused({2, static_cast<float>(kInfinity), 3});
}

}  // namespace
}  // namespace sluice
