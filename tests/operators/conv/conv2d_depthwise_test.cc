#include "sluice/operators/conv/conv2d_depthwise.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/operators/conv/conv2d_direct.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Small integers, so that sums are exact in any order.
template <typename T>
std::vector<T> Integers(int64_t count, std::mt19937* random) {
  std::vector<T> values(static_cast<size_t>(count));
  std::uniform_int_distribution<int> draw(-9, 9);
  for (T& value : values) {
    value = static_cast<T>(draw(*random));
  }
  return values;
}

// [n][channels][pixels] to [n][pixels][channels].
template <typename T>
std::vector<T> ChannelsLast(const std::vector<T>& from,
                            int64_t channels,
                            int64_t pixels) {
  std::vector<T> to(from.size());
  const int64_t plane = channels * pixels;
  for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i) {
    const int64_t n = i / plane, c = i / pixels % channels, at = i % pixels;
    to[n * plane + at * channels + c] = from[i];
  }
  return to;
}

Conv2dGeometry Drawn(std::mt19937* random) {
  const auto draw = [random](int low, int high) {
    return std::uniform_int_distribution<int64_t>(low, high)(*random);
  };
  Conv2dGeometry g;
  g.n = draw(1, 2);
  g.groups = g.in_c = g.out_c = draw(0, 2) == 0 ? draw(1, 4) : draw(1, 70);
  g.kernel_h = draw(1, 7);
  g.kernel_w = draw(1, 9);
  g.stride_h = draw(1, 3);
  g.stride_w = draw(1, 3);
  g.dilation_h = draw(0, 2) == 0 ? 2 : 1;
  g.dilation_w = draw(0, 2) == 0 ? 2 : 1;
  g.pad_top = draw(0, 8);
  g.pad_bottom = draw(0, 8);
  g.pad_left = draw(0, 10);
  g.pad_right = draw(0, 10);
  g.in_h = draw(1, 9);
  g.in_w = draw(1, 45);
  const int64_t high = g.in_h + g.pad_top + g.pad_bottom;
  const int64_t wide = g.in_w + g.pad_left + g.pad_right;
  g.out_h = (high - (g.kernel_h - 1) * g.dilation_h - 1) / g.stride_h + 1;
  g.out_w = (wide - (g.kernel_w - 1) * g.dilation_w - 1) / g.stride_w + 1;
  const bool fits = high > (g.kernel_h - 1) * g.dilation_h &&
                    wide > (g.kernel_w - 1) * g.dilation_w;
  return fits ? g : Drawn(random);
}

template <typename T>
void ExpectTheSameAsPlanes(std::mt19937* random) {
  Conv2dGeometry g = Drawn(random);
  SCOPED_TRACE(::testing::Message()
               << g.n << "x" << g.in_c << "x" << g.in_h << "x" << g.in_w
               << ", filter " << g.kernel_h << "x" << g.kernel_w << ", strides "
               << g.stride_h << "x" << g.stride_w << ", dilations "
               << g.dilation_h << "x" << g.dilation_w << ", padding "
               << g.pad_top << " " << g.pad_left);
  const auto x = Integers<T>(g.input_size(), random);
  const auto filter = Integers<T>(g.filter_size(), random);
  const auto bias = Integers<T>(g.out_c, random);
  const T* some = g.n == 1 ? nullptr : bias.data();
  T* const none = nullptr;
  std::vector<T> want(g.output_size());
  Conv2dDirect(g, x.data(), filter.data(), some, want.data(), none);
  g.nhwc = true;
  ASSERT_TRUE(IsDepthwiseLast(g));
  std::vector<T> packed(static_cast<size_t>(Conv2dDirectScratch(g)));
  std::vector<T> got(want.size());
  Conv2dDirect(g, ChannelsLast(x, g.in_c, g.in_h * g.in_w).data(),
               filter.data(), some, got.data(), packed.data());
  EXPECT_EQ(got, ChannelsLast(want, g.out_c, g.out_pixels()));
}

TEST(DepthwiseLast, EqualsPlaneByPlane) {
  const ThreadCountGuard guard(2);
  std::mt19937 random(1);
  for (int i = 0; i < 1500 && !::testing::Test::HasFailure(); ++i) {
    ExpectTheSameAsPlanes<float>(&random);
    ExpectTheSameAsPlanes<double>(&random);
  }
}

}  // namespace
}  // namespace sluice
