#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::InferOpShapes;

// The last of 10,007 roots of unity, a prime: each sum has one term of it.
TEST(Dft, LongPrimeLengthsKeepTheirDigits) {
  constexpr int64_t kLength = 10007;
  std::vector<double> values(kLength);
  values[kLength - 1] = 1;
  const Tensor x = Tensor::FromVector<double>({1, kLength, 1}, values);
  const auto out = RunOp("dft", {{"X", x}})["Out"].ToVector<double>();
  double worst = 0;
  for (int64_t k = 0; k < kLength; ++k) {
    const double angle = 2 * M_PI * static_cast<double>(k) / kLength;
    worst = std::max({worst, std::fabs(out[2 * k] - std::cos(angle)),
                      std::fabs(out[2 * k + 1] - std::sin(angle))});
  }
  EXPECT_LT(worst, 1e-13);
}

TEST(Dft, InfersShapes) {
  const auto shape = [](const DDim& x, const AttributeMap& attributes) {
    return InferOpShapes("dft", {{"X", x}}, attributes).at("Out");
  };
  EXPECT_EQ(shape({-1, 8, 1}, {{"onesided", true}}), DDim({-1, 5, 2}));
  EXPECT_EQ(shape({-1, 8, -1}, {{"axis", int64_t{0}}}), DDim({-1, 8, 2}));
  EXPECT_EQ(shape({2, 5, 2}, {{"onesided", true}, {"inverse", true}}),
            DDim({2, 8, 1}));
}

}  // namespace
}  // namespace sluice
