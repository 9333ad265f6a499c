#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/operators/pool/pool2d.h"

namespace sluice {
namespace {

// Compares windows that contain whole planes with the same windows of images of
// one channel that comes last, which other loops pool.
void Compare(bool max, bool relu, const std::vector<float>& x, int64_t n) {
  Pool2dGeometry g;
  g.n = n;
  g.c = 1;
  g.in_h = g.kernel_h = g.end_h = 3;
  g.in_w = g.kernel_w = g.end_w = static_cast<int64_t>(x.size()) / n / 3;
  g.out_h = g.out_w = 1;
  g.max = max;
  g.relu = relu;
  ASSERT_TRUE(HasWholePlanes(g));
  std::vector<float> found(static_cast<size_t>(n));
  Pool2d(g, x.data(), found.data());
  g.nhwc = true;
  std::vector<float> expected(static_cast<size_t>(n));
  Pool2d(g, x.data(), expected.data());
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(found[i])) << i;
    } else {
      EXPECT_FLOAT_EQ(found[i], expected[i]) << i;
    }
  }
}

TEST(WholePlanes, PoolLikeOtherWindows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t width : {1, 4, 7, 100}) {
    constexpr int64_t kPlanes = 6;
    std::vector<float> x(static_cast<size_t>(kPlanes * 3 * width));
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = std::sin(static_cast<float>(i));
    }
    const auto plane = [&](int64_t i) { return &x[i * 3 * width]; };
    plane(1)[1] = kNaN;
    plane(2)[2] = kInfinity;
    std::fill(plane(3), plane(4), 3e38F);
    plane(4)[0] = kInfinity;
    plane(4)[1] = -kInfinity;
    std::fill(plane(5), plane(5) + 3 * width, -1.0F);
    for (const bool max : {false, true}) {
      for (const bool relu : {false, true}) {
        Compare(max, relu, x, kPlanes);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
