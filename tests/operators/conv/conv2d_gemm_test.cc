#include "sluice/operators/conv/conv2d_gemm.h"

#include <vector>

#include <gtest/gtest.h>

#include "sluice/operators/conv/conv2d_direct.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

Conv2dGeometry Geometry(int64_t n, int64_t height, int64_t width, bool nhwc) {
  Conv2dGeometry g;
  g.n = n;
  g.in_c = 3;
  g.out_c = 5;
  g.in_h = height;
  g.in_w = width;
  g.kernel_h = g.kernel_w = 3;
  g.pad_top = g.pad_bottom = g.pad_left = g.pad_right = 1;
  g.out_h = height;
  g.out_w = width;
  g.nhwc = nhwc;
  return g;
}

std::vector<float> Conv2dGemmNumbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i * 7919 % 101 - 50) / 37;
  }
  return values;
}

TEST(TileConv2d, CoversEachWindowOnceAndInOrder) {
  for (const int64_t windows : {1, 2, 3, 7, 40, 60, 130, 1000}) {
    const Conv2dGeometry g = Geometry(7, 6, 9, true);
    const Conv2dTiling tiling = TileConv2d(g, windows);
    EXPECT_LE(tiling.windows(), windows);
    int64_t next = 0;
    for (int64_t t = 0; t < tiling.count; ++t) {
      const Conv2dTile tile = TileAt(g, tiling, t);
      EXPECT_EQ((tile.image * g.out_h + tile.row) * g.out_w + tile.column,
                next);
      EXPECT_TRUE(tile.rows == 1 || tile.columns == g.out_w);
      EXPECT_TRUE(tile.images == 1 || tile.rows == g.out_h);
      next += tile.windows();
    }
    EXPECT_EQ(next, g.n * g.out_pixels());
  }
}

TEST(PlanConv2dGemm, KeepsScratchSmall) {
  for (const bool nhwc : {false, true}) {
    const Conv2dGeometry g = Geometry(64, 224, 224, nhwc);
    for (const auto direction :
         {Conv2dDirection::kForward, Conv2dDirection::kGradInput,
          Conv2dDirection::kGradFilter}) {
      const auto plan = PlanConv2dGemm(g, direction, sizeof(float), 4);
      EXPECT_LE(plan.scratch_bytes(sizeof(float)), size_t{8} << 20);
    }
  }
}

// The gradient of the input with the bias that AllDirections adds.
void AddBias(const Conv2dGeometry& g, std::vector<float>* x_grad) {
  const auto bias = Conv2dGemmNumbers(g.in_c);
  const int64_t run = g.nhwc ? 1 : g.in_pixels();
  for (size_t i = 0; i < x_grad->size(); ++i) {
    (*x_grad)[i] += bias[static_cast<int64_t>(i) / run % g.in_c];
  }
}

// All three directions with `threads` threads.
std::vector<float> AllDirections(const Conv2dGeometry& g, int threads) {
  const ThreadCountGuard guard(threads);
  const auto x = Conv2dGemmNumbers(g.input_size()),
             w = Conv2dGemmNumbers(g.filter_size());
  const auto y = Conv2dGemmNumbers(g.output_size()),
             bias = Conv2dGemmNumbers(g.out_c);
  const auto x_bias = Conv2dGemmNumbers(g.in_c);
  std::vector<float> out(g.output_size()), x_grad(x.size()), w_grad(w.size());
  const auto plan = [&](Conv2dDirection direction) {
    return PlanConv2dGemm(g, direction, sizeof(float), threads);
  };
  const auto scratch = [](const Conv2dGemmPlan& plan) {
    return std::vector<double>(plan.scratch_bytes(sizeof(float)) / 8 + 1);
  };
  auto made = plan(Conv2dDirection::kForward);
  Conv2dGemm(made, x.data(), w.data(), bias.data(), out.data(),
             scratch(made).data());
  made = plan(Conv2dDirection::kGradInput);
  Conv2dGemmGradInput(made, w.data(), y.data(), x_bias.data(), x_grad.data(),
                      scratch(made).data());
  made = plan(Conv2dDirection::kGradFilter);
  Conv2dGemmGradFilter(made, x.data(), y.data(), w_grad.data(),
                       scratch(made).data());
  out.insert(out.end(), x_grad.begin(), x_grad.end());
  out.insert(out.end(), w_grad.begin(), w_grad.end());
  return out;
}

TEST(Conv2dGemm, ManyThreadsGiveTheSameBits) {
  for (const bool nhwc : {false, true}) {
    for (const Conv2dGeometry& g :
         {Geometry(9, 14, 14, nhwc), Geometry(2, 40, 41, nhwc)}) {
      const std::vector<float> one = AllDirections(g, 1);
      for (const int threads : {2, 7}) {
        EXPECT_EQ(AllDirections(g, threads), one) << threads;
      }
    }
  }
}

// Images with many channels, which threads share.
Conv2dGeometry ManyChannels(int64_t n,
                            int64_t kernel,
                            int64_t groups,
                            bool nhwc) {
  Conv2dGeometry g = Geometry(n, 7, 9, nhwc);
  g.in_c = 96;
  g.out_c = 10;
  g.groups = groups;
  g.kernel_h = g.kernel_w = kernel;
  g.pad_top = g.pad_bottom = g.pad_left = g.pad_right = kernel / 2;
  return g;
}

TEST(PlanConv2dGemm, ThreadsShareTheInputsGradientOfOneImage) {
  for (const bool nhwc : {false, true}) {
    for (const int64_t kernel : {1, 3}) {
      for (const int64_t groups : {1, 2}) {
        const Conv2dGeometry g = ManyChannels(1, kernel, groups, nhwc);
        const auto plan =
            PlanConv2dGemm(g, Conv2dDirection::kGradInput, sizeof(float), 6);
        EXPECT_EQ(plan.slots, 6) << nhwc << kernel << groups;
        EXPECT_EQ(g.group_in_c() % plan.blocks, 0);
      }
    }
  }
}

// The gradient of the input is that of the direct form, for any threads.
void ExpectDirectGradInput(const Conv2dGeometry& g) {
  const auto w = Conv2dGemmNumbers(g.filter_size());
  const auto y = Conv2dGemmNumbers(g.output_size());
  std::vector<float> want(g.input_size());
  Conv2dDirectGradInput(g, w.data(), y.data(), want.data());
  AddBias(g, &want);
  const std::vector<float> one = AllDirections(g, 1);
  EXPECT_EQ(AllDirections(g, 5), one);
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(one[y.size() + i], want[i], 2e-3)
        << g.kernel_w << " " << g.groups << " " << g.n << " " << i;
  }
}

TEST(Conv2dGemm, ManyChannelsAgreeWithTheDirectFormForAnyThreads) {
  for (const bool nhwc : {false, true}) {
    for (const int64_t kernel : {1, 3}) {
      for (const int64_t groups : {1, 2}) {
        for (const int64_t n : {1, 3}) {
          ExpectDirectGradInput(ManyChannels(n, kernel, groups, nhwc));
        }
      }
    }
  }
}

TEST(Conv2dGemm, LargerPlanesAgreeWithTheDirectForm) {
  for (const bool nhwc : {false, true}) {
    const Conv2dGeometry g = Geometry(2, 40, 41, nhwc);
    const auto x = Conv2dGemmNumbers(g.input_size()),
               w = Conv2dGemmNumbers(g.filter_size());
    const auto y = Conv2dGemmNumbers(g.output_size()),
               bias = Conv2dGemmNumbers(g.out_c);
    std::vector<float> want(g.output_size()), x_grad(x.size());
    std::vector<float> w_grad(w.size());
    std::vector<float> scratch(static_cast<size_t>(Conv2dDirectScratch(g)));
    Conv2dDirect(g, x.data(), w.data(), bias.data(), want.data(),
                 scratch.data());
    Conv2dDirectGradInput(g, w.data(), y.data(), x_grad.data());
    AddBias(g, &x_grad);
    Conv2dDirectGradFilter(g, x.data(), y.data(), w_grad.data());
    want.insert(want.end(), x_grad.begin(), x_grad.end());
    want.insert(want.end(), w_grad.begin(), w_grad.end());
    const std::vector<float> got = AllDirections(g, 2);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], want[i], 2e-3) << i;
    }
  }
}

// Kernels with the size of the stride: each input element is in one window.
TEST(Conv2dGemm, WindowsSideBySideAgreeWithTheDirectForm) {
  for (const int64_t size : {1, 2, 3, 4, 5}) {
    for (const int64_t groups : {1, 2}) {
      for (const int64_t n : {1, 9}) {
        Conv2dGeometry g = ManyChannels(n, 1, groups, /*nhwc=*/false);
        g.out_h = 3;
        g.out_w = 37;
        g.kernel_w = g.stride_w = size;
        g.kernel_h = g.stride_h = 2;
        g.in_h = g.out_h * g.stride_h;
        g.in_w = g.out_w * g.stride_w;
        const auto plan =
            PlanConv2dGemm(g, Conv2dDirection::kGradInput, sizeof(float), 1);
        EXPECT_TRUE(plan.once);
        ExpectDirectGradInput(g);
        g.in_h += 1;  // a row that no window covers
        EXPECT_FALSE(
            PlanConv2dGemm(g, Conv2dDirection::kGradInput, sizeof(float), 1)
                .once);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
