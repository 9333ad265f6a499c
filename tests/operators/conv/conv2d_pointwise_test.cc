#include "sluice/operators/conv/conv2d_pointwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Conv2dGeometry Conv2dPointwiseGeometry(int64_t n,
                                       int64_t height,
                                       int64_t width,
                                       int64_t in_c,
                                       int64_t out_c,
                                       int64_t stride_h = 1,
                                       int64_t stride_w = 1) {
  Conv2dGeometry g;
  g.n = n;
  g.in_c = in_c;
  g.out_c = out_c;
  g.in_h = height;
  g.in_w = width;
  g.stride_h = stride_h;
  g.stride_w = stride_w;
  g.out_h = (height - 1) / stride_h + 1;
  g.out_w = (width - 1) / stride_w + 1;
  g.nhwc = true;
  return g;
}

std::vector<float> Conv2dPointwiseNumbers(int64_t count, int64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((i + seed) * 7919 % 101 - 50) / 37;
  }
  return values;
}

struct Conv {
  explicit Conv(const Conv2dGeometry& geometry)
      : g(geometry),
        input(Conv2dPointwiseNumbers(g.input_size(), 1)),
        filter(Conv2dPointwiseNumbers(g.filter_size(), 2)),
        bias(Conv2dPointwiseNumbers(g.out_c, 3)) {}

  std::vector<float> Run(int threads = 1) const {
    const ThreadCountGuard guard(threads);
    const Conv2dPointwisePlan plan = PlanConv2dPointwise(g, threads);
    std::vector<float> packed(static_cast<size_t>(plan.packed_size()));
    PackPointwiseFilter(plan, filter.data(),
                        factors.empty() ? nullptr : factors.data(),
                        packed.data());
    std::vector<float> output(static_cast<size_t>(g.output_size()), kNaN);
    Conv2dPointwise(plan, input.data(), packed.data(),
                    bias.empty() ? nullptr : bias.data(), chain, output.data());
    return output;
  }

  double Want(int64_t i) const {
    const int64_t pixel = i / g.out_c, o = i % g.out_c;
    const int64_t image = pixel / g.out_pixels();
    const int64_t row = pixel % g.out_pixels() / g.out_w * g.stride_h;
    const int64_t column = pixel % g.out_w * g.stride_w;
    double sum = 0;
    const int64_t depth = g.group_in_c();
    const int64_t first = o / g.group_out_c() * depth;
    for (int64_t c = 0; c < depth; ++c) {
      const int64_t at =
          ((image * g.in_h + row) * g.in_w + column) * g.in_c + first + c;
      sum += static_cast<double>(input[at]) * filter[o * depth + c];
    }
    if (!factors.empty()) sum *= factors[o];
    return bias.empty() ? sum : sum + bias[o];
  }

  void ExpectRight(const std::vector<float>& got) const {
    for (int64_t i = 0; i < g.output_size(); ++i) {
      const double want = Want(i);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got[i])) << i;
        continue;
      }
      ASSERT_NEAR(got[i], want, 1e-6 * static_cast<double>(g.in_c + 4))
          << i << " of " << g.out_h << "x" << g.out_w << ", " << g.in_c
          << " to " << g.out_c;
    }
  }

  Conv2dGeometry g;
  std::vector<float> input, filter, bias;
  std::vector<double> factors;
  OutputChain<float> chain;
};

TEST(Conv2dPointwise, IsTheConvolution) {
  for (const int64_t height : {1, 3, 13}) {
    for (const int64_t width : {1, 5, 14}) {
      for (const int64_t in_c : {1, 3, 16, 300}) {
        for (const int64_t out_c : {1, 5, 8, 16, 21, 64}) {
          for (const int64_t stride : {1, 2}) {
            const Conv conv(Conv2dPointwiseGeometry(2, height, width, in_c,
                                                    out_c, stride, 3 - stride));
            ASSERT_NO_FATAL_FAILURE(conv.ExpectRight(conv.Run()));
          }
        }
      }
    }
  }
}

TEST(Conv2dPointwise, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const auto& g : {Conv2dPointwiseGeometry(1, 7, 7, 512, 300),
                        Conv2dPointwiseGeometry(1, 40, 37, 24, 40),
                        Conv2dPointwiseGeometry(2, 15, 15, 30, 70, 2, 2),
                        Conv2dPointwiseGeometry(1, 1, 1, 600, 1000)}) {
    Conv conv(g);
    const Chain<float> chain({{"relu", {}}}, {});
    conv.chain = {&chain, {}};
    const std::vector<float> one = conv.Run(1);
    for (const int threads : {2, 3, 7}) {
      EXPECT_EQ(conv.Run(threads), one) << threads;
    }
  }
}

TEST(Conv2dPointwise, ComputesEachGroupByItself) {
  for (const int64_t groups : {2, 3, 6}) {
    for (const int64_t in_c : {1, 5, 16}) {
      for (const int64_t out_c : {1, 7, 20, 34}) {
        for (const int threads : {1, 4}) {
          Conv2dGeometry g = Conv2dPointwiseGeometry(
              1, 3, 5, groups * in_c, groups * out_c, threads, 1);
          g.groups = groups;
          Conv conv(g);
          const Chain<float> chain({{"relu", {}}}, {});
          const std::vector<float> plain = conv.Run(threads);
          ASSERT_NO_FATAL_FAILURE(conv.ExpectRight(plain));
          conv.chain = {&chain, {}};
          const std::vector<float> positive = conv.Run(threads);
          for (size_t i = 0; i < plain.size(); ++i) {
            ASSERT_EQ(positive[i], std::max(plain[i], 0.0F)) << i;
          }
        }
      }
    }
  }
}

TEST(Conv2dPointwise, NoChannelsAreTheBias) {
  Conv conv(Conv2dPointwiseGeometry(1, 4, 5, 0, 21));
  conv.ExpectRight(conv.Run());
  conv.bias.clear();
  conv.ExpectRight(conv.Run());
}

TEST(Conv2dPointwise, NoBiasIsZero) {
  Conv conv(Conv2dPointwiseGeometry(1, 4, 5, 6, 7));
  conv.bias.clear();
  conv.ExpectRight(conv.Run());
}

TEST(Conv2dPointwise, MultipliesFiltersByTheirFactors) {
  Conv conv(Conv2dPointwiseGeometry(1, 4, 5, 6, 21));
  for (int o = 0; o < 21; ++o) {
    conv.factors.push_back(0.25 * (o - 7));
  }
  conv.ExpectRight(conv.Run());
}

TEST(Conv2dPointwise, KeepsNaNWhereItIs) {
  Conv conv(Conv2dPointwiseGeometry(1, 9, 11, 3, 10));
  conv.input[30 * 3 + 1] = kNaN;
  conv.ExpectRight(conv.Run());
}

TEST(Conv2dPointwise, AppliesAChainToEachOutputOnce) {
  const Chain<float> chain({{"scale", {2, 1}}, {"elementwise_add", {}}},
                           {{1, 70}});
  const std::vector<float> operand = Conv2dPointwiseNumbers(70, 9);
  const std::array<const float*, 1> operands = {operand.data()};
  for (const auto& g : {Conv2dPointwiseGeometry(1, 9, 11, 17, 70),
                        Conv2dPointwiseGeometry(1, 1, 3, 17, 70),
                        Conv2dPointwiseGeometry(2, 9, 11, 17, 70, 2, 2)}) {
    for (const int threads : {1, 3}) {
      Conv conv(g);
      const std::vector<float> plain = conv.Run();
      conv.chain = {&chain, operands};
      const std::vector<float> got = conv.Run(threads);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], (2 * plain[i] + 1) + operand[i % 70], 1e-4) << i;
      }
    }
  }
}

TEST(FitsConv2dPointwise, SaysWhatItTakes) {
  const Conv2dGeometry g = Conv2dPointwiseGeometry(1, 8, 8, 4, 4, 2, 2);
  EXPECT_TRUE(FitsConv2dPointwise(g));
  const auto refuses = [&](auto change) {
    Conv2dGeometry other = g;
    change(other);
    return !FitsConv2dPointwise(other);
  };
  EXPECT_TRUE(refuses([](auto& other) { other.nhwc = false; }));
  EXPECT_TRUE(refuses([](auto& other) { other.kernel_h = 3; }));
  EXPECT_TRUE(refuses([](auto& other) { other.kernel_w = 3; }));
  EXPECT_TRUE(refuses([](auto& other) { other.pad_top = 1; }));
  EXPECT_TRUE(refuses([](auto& other) { other.pad_bottom = 1; }));
  EXPECT_TRUE(refuses([](auto& other) { other.pad_left = 1; }));
  EXPECT_TRUE(refuses([](auto& other) { other.pad_right = 1; }));
}

}  // namespace
}  // namespace sluice
