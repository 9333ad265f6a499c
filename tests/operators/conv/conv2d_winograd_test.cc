#include "sluice/operators/conv/conv2d_winograd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kConv2dWinogradNaN = std::numeric_limits<float>::quiet_NaN();

Conv2dGeometry Conv2dWinogradGeometry(
    int64_t n, int64_t height, int64_t width, int64_t in_c, int64_t out_c) {
  Conv2dGeometry g;
  g.n = n;
  g.in_c = in_c;
  g.out_c = out_c;
  g.in_h = height;
  g.in_w = width;
  g.kernel_h = g.kernel_w = 3;
  g.pad_top = g.pad_bottom = g.pad_left = g.pad_right = 1;
  g.out_h = height;
  g.out_w = width;
  g.nhwc = true;
  return g;
}

std::vector<float> Conv2dWinogradNumbers(int64_t count, int64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((i + seed) * 7919 % 101 - 50) / 37;
  }
  return values;
}

// A convolution with its arguments.
struct WinogradConv {
  WinogradConv(const Conv2dGeometry& geometry, int64_t tile)
      : g(geometry),
        m(tile),
        input(Conv2dWinogradNumbers(g.input_size(), 1)),
        filter(Conv2dWinogradNumbers(g.filter_size(), 2)),
        bias(Conv2dWinogradNumbers(g.out_c, 3)) {}

  std::vector<float> Run(int threads = 1) const {
    const ThreadCountGuard guard(threads);
    const Conv2dWinogradPlan plan = PlanConv2dWinograd(g, m, threads);
    std::vector<float> packed(static_cast<size_t>(plan.packed_size()));
    const double* scales = factors.empty() ? nullptr : factors.data();
    PackWinogradFilter(plan, filter.data(), scales, packed.data());
    std::vector<float> output(static_cast<size_t>(g.output_size()),
                              kConv2dWinogradNaN);
    constexpr auto kMark = static_cast<std::byte>(0x5A);
    std::vector<std::byte> scratch(plan.scratch_bytes() + 4096, kMark);
    Conv2dWinograd(plan, input.data(), {filter.data(), scales, packed.data()},
                   bias.data(), chain, output.data(), scratch.data());
    EXPECT_EQ(std::count(scratch.end() - 4096, scratch.end(), kMark), 4096)
        << "wrote past the end of scratch";
    return output;
  }

  // The sums over windows, in double, and the sums of their terms' sizes.
  void Sum(int64_t pixel, int64_t o, double* sum, double* size) const {
    const int64_t image = pixel / g.out_pixels();
    const int64_t row = pixel % g.out_pixels() / g.out_w;
    const int64_t column = pixel % g.out_w;
    *sum = *size = 0;
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int64_t y = row + tap / 3 - g.pad_top;
      const int64_t x = column + tap % 3 - g.pad_left;
      for (int64_t c = 0; c < g.in_c; ++c) {
        const bool inside = y >= 0 && y < g.in_h && x >= 0 && x < g.in_w;
        const double value =
            inside ? input[((image * g.in_h + y) * g.in_w + x) * g.in_c + c]
                   : 0;
        const double term = value * filter[(o * g.in_c + c) * 9 + tap];
        *sum += term;
        *size += std::abs(term);
      }
    }
    if (!factors.empty()) *sum *= factors[o];
    *sum += bias[o];
  }

  void ExpectRight(const std::vector<float>& got) const {
    for (int64_t i = 0; i < g.output_size(); ++i) {
      double sum = 0, size = 0;
      Sum(i / g.out_c, i % g.out_c, &sum, &size);
      const auto want = static_cast<float>(sum);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got[i])) << i << " is " << got[i];
      } else if (std::isinf(want)) {
        ASSERT_EQ(got[i], want) << i;
      } else {
        ASSERT_NEAR(got[i], want, 2e-5 * std::sqrt(g.in_c) + 1e-6 * size)
            << i << " of " << g.out_h << "x" << g.out_w << ", " << g.in_c
            << " to " << g.out_c;
      }
    }
  }

  Conv2dGeometry g;
  int64_t m;
  std::vector<float> input, filter, bias;
  std::vector<double> factors;
  OutputChain<float> chain;
};

class Conv2dWinogradTest : public ::testing::TestWithParam<int64_t> {};

TEST_P(Conv2dWinogradTest, IsTheConvolution) {
  for (const int64_t height : {1, 2, 3, 4, 7, 13}) {
    for (const int64_t width : {1, 5, 8, 14}) {
      for (const int64_t in_c : {1, 3, 16, 19}) {
        for (const int64_t out_c : {1, 8, 21, 64}) {
          const WinogradConv conv(
              Conv2dWinogradGeometry(2, height, width, in_c, out_c),
              GetParam());
          ASSERT_NO_FATAL_FAILURE(conv.ExpectRight(conv.Run()));
        }
      }
    }
  }
}

TEST_P(Conv2dWinogradTest, TakesAnyPadding) {
  for (const int64_t top : {0, 2, 5}) {
    for (const int64_t right : {0, 3}) {
      Conv2dGeometry g = Conv2dWinogradGeometry(1, 6, 9, 4, 5);
      g.pad_top = top;
      g.pad_right = right;
      g.out_h = g.in_h + g.pad_top + g.pad_bottom - 2;
      g.out_w = g.in_w + g.pad_left + g.pad_right - 2;
      const WinogradConv conv(g, GetParam());
      ASSERT_NO_FATAL_FAILURE(conv.ExpectRight(conv.Run()));
    }
  }
}

TEST_P(Conv2dWinogradTest, ManyChannelsAndTiles) {
  for (const auto& g : {Conv2dWinogradGeometry(1, 40, 37, 24, 40),
                        Conv2dWinogradGeometry(3, 9, 9, 300, 70),
                        Conv2dWinogradGeometry(1, 28, 30, 130, 140)}) {
    const WinogradConv conv(g, GetParam());
    ASSERT_NO_FATAL_FAILURE(conv.ExpectRight(conv.Run()));
  }
}

TEST_P(Conv2dWinogradTest, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const auto& g : {Conv2dWinogradGeometry(1, 40, 37, 24, 40),
                        Conv2dWinogradGeometry(1, 9, 9, 30, 70),
                        Conv2dWinogradGeometry(1, 28, 30, 130, 140)}) {
    const WinogradConv conv(g, GetParam());
    const std::vector<float> one = conv.Run(1);
    for (const int threads : {2, 3, 7}) {
      EXPECT_EQ(conv.Run(threads), one) << threads;
    }
  }
}

TEST_P(Conv2dWinogradTest, WindowsWithoutTheNaNDoNotGetIt) {
  for (const float special : {kConv2dWinogradNaN, kInfinity, -kInfinity}) {
    for (const int64_t pixel : {0, 5, 40, 98}) {
      WinogradConv conv(Conv2dWinogradGeometry(1, 9, 11, 3, 10), GetParam());
      conv.input[pixel * 3 + 1] = special;
      ASSERT_NO_FATAL_FAILURE(conv.ExpectRight(conv.Run(2)));
      conv.factors = std::vector<double>(10, -0.5);
      ASSERT_NO_FATAL_FAILURE(conv.ExpectRight(conv.Run()));
    }
  }
}

// The windows of a tile that is summed use the block's memory.
TEST_P(Conv2dWinogradTest, TilesWithNaNDoNotDisturbTheirNeighbours) {
  for (const auto& g : {Conv2dWinogradGeometry(1, 2, 2, 512, 1),
                        Conv2dWinogradGeometry(1, 2, 96, 64, 3),
                        Conv2dWinogradGeometry(1, 6, 16, 16, 8),
                        Conv2dWinogradGeometry(1, 4, 5, 1, 2)}) {
    for (const int threads : {1, 4}) {
      WinogradConv conv(g, GetParam());
      for (int64_t pixel = 0; pixel < g.in_pixels(); pixel += 7) {
        conv.input[pixel * g.in_c] = kConv2dWinogradNaN;
      }
      ASSERT_NO_FATAL_FAILURE(conv.ExpectRight(conv.Run(threads)));
    }
  }
}

TEST_P(Conv2dWinogradTest, NoChannelsAreTheBias) {
  const WinogradConv conv(Conv2dWinogradGeometry(1, 5, 6, 0, 7), GetParam());
  conv.ExpectRight(conv.Run());
}

TEST_P(Conv2dWinogradTest, TransformsThatOverflow) {
  WinogradConv conv(Conv2dWinogradGeometry(1, 9, 11, 3, 10), GetParam());
  std::fill(conv.input.begin(), conv.input.end(), 3e37F);
  std::fill(conv.filter.begin(), conv.filter.end(), 0.1F);
  for (const float value : conv.Run()) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_P(Conv2dWinogradTest, FiltersThatAreNotFinite) {
  for (const float special : {kConv2dWinogradNaN, kInfinity}) {
    WinogradConv conv(Conv2dWinogradGeometry(1, 5, 6, 3, 10), GetParam());
    conv.filter[4 * 27 + 13] = special;  // of output channel 4 only
    const std::vector<float> got = conv.Run();
    conv.ExpectRight(got);
    EXPECT_FALSE(std::isfinite(got[4]));
    EXPECT_TRUE(std::isfinite(got[3]));
  }
}

TEST_P(Conv2dWinogradTest, MultipliesFiltersByTheirFactors) {
  WinogradConv conv(Conv2dWinogradGeometry(2, 9, 11, 17, 21), GetParam());
  for (int o = 0; o < 21; ++o) {
    conv.factors.push_back(0.25 * (o - 7));
  }
  conv.ExpectRight(conv.Run());
}

TEST_P(Conv2dWinogradTest, AppliesAChainToEachOutputOnce) {
  const Chain<float> chain({{"scale", {2, 1}}, {"elementwise_add", {}}},
                           {{1, 21}});
  const std::vector<float> operand = Conv2dWinogradNumbers(21, 9);
  const std::array<const float*, 1> operands = {operand.data()};
  for (const int threads : {1, 2}) {
    WinogradConv conv(Conv2dWinogradGeometry(2, 9, 11, 17, 21), GetParam());
    conv.input[30] = kConv2dWinogradNaN;
    const std::vector<float> plain = conv.Run();
    conv.chain = {&chain, operands};
    const std::vector<float> got = conv.Run(threads);
    for (size_t i = 0; i < got.size(); ++i) {
      const float want = (2 * plain[i] + 1) + operand[i % 21];
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got[i])) << i;
      } else {
        ASSERT_NEAR(got[i], want, 1e-4) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles,
                         Conv2dWinogradTest,
                         ::testing::Values(2, 4),
                         [](const auto& info) {
                           return "Of" + std::to_string(info.param);
                         });

TEST(FitsConv2dWinograd, SaysWhatItTakes) {
  const Conv2dGeometry g = Conv2dWinogradGeometry(1, 8, 8, 4, 4);
  EXPECT_TRUE(FitsConv2dWinograd(g));
  const auto refuses = [&](auto change) {
    Conv2dGeometry other = g;
    change(other);
    return !FitsConv2dWinograd(other);
  };
  EXPECT_TRUE(refuses([](auto& other) { other.nhwc = false; }));
  EXPECT_TRUE(refuses([](auto& other) { other.groups = 2; }));
  EXPECT_TRUE(refuses([](auto& other) { other.kernel_h = 1; }));
  EXPECT_TRUE(refuses([](auto& other) { other.kernel_w = 5; }));
  EXPECT_TRUE(refuses([](auto& other) { other.stride_h = 2; }));
  EXPECT_TRUE(refuses([](auto& other) { other.stride_w = 2; }));
  EXPECT_TRUE(refuses([](auto& other) { other.dilation_h = 2; }));
  EXPECT_TRUE(refuses([](auto& other) { other.dilation_w = 2; }));
}

}  // namespace
}  // namespace sluice
