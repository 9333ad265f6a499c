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
