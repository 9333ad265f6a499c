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
