#include "sluice/operators/conv/conv2d_work.h"

#include <gtest/gtest.h>

#include "sluice/framework/costs/machine_figures.h"
#include "sluice/operators/math/work.h"

namespace sluice {
namespace {

constexpr Conv2dDirection kDirections[] = {Conv2dDirection::kForward,
                                           Conv2dDirection::kGradInput,
                                           Conv2dDirection::kGradFilter};

Conv2dGeometry Conv2dWorkGeometry(int64_t in_c, int64_t size, int64_t out_c) {
  Conv2dGeometry g;
  g.n = 1;
  g.in_c = in_c;
  g.in_h = g.in_w = g.out_h = g.out_w = size;
  g.out_c = out_c;
  g.kernel_h = g.kernel_w = 3;
  g.pad_top = g.pad_bottom = g.pad_left = g.pad_right = 1;
  return g;
}

double Seconds(const KernelWork& work, int threads = 1) {
  constexpr auto kFloat = DType::kFloat32;
  return PredictSeconds(work, KernelCosts::Default().Of(work.costs, kFloat),
                        kFloat, DerivedFigures("AVX2", threads), threads);
}

TEST(Conv2dWork, FourTimesTheImagesTakeAboutFourTimesAsLong) {
  for (const bool nhwc : {false, true}) {
    for (const Conv2dDirection direction : kDirections) {
      Conv2dGeometry g = Conv2dWorkGeometry(32, 28, 64);
      g.nhwc = nhwc;
      const double one = Seconds(Conv2dGemmWork(g, direction, 4));
      g.n = 4;
      const double four = Seconds(Conv2dGemmWork(g, direction, 4));
      EXPECT_GT(four, 2.5 * one);
      EXPECT_LT(four, 5 * one);
    }
  }
}

TEST(Conv2dWork, NothingIsDoneForNothing) {
  Conv2dGeometry g = Conv2dWorkGeometry(8, 16, 8);
  g.n = 0;
  for (const Conv2dDirection direction : kDirections) {
    EXPECT_EQ(Conv2dGemmWork(g, direction, 4).flops, 0);
    EXPECT_EQ(Conv2dDirectWork(g, direction, 4).flops, 0);
  }
  EXPECT_EQ(Conv2dRowsWork(g, 4).flops, 0);
  EXPECT_EQ(Conv2dThinWork(g, 4).flops, 0);
}

TEST(Conv2dWork, RowsArePaidInWholeVectors) {
  const int64_t lanes = VectorLanes(4);
  const KernelWork full =
      Conv2dRowsWork(Conv2dWorkGeometry(16, 2 * lanes, 16), 4);
  const KernelWork more =
      Conv2dRowsWork(Conv2dWorkGeometry(16, 2 * lanes + 1, 16), 4);
  const double rows =
      static_cast<double>(2 * lanes + 1) / static_cast<double>(2 * lanes);
  EXPECT_DOUBLE_EQ(more.flops, full.flops * rows * 1.5);
}

// A row with few filters loads more for each product.
TEST(Conv2dWork, FewFiltersLoadMoreForEachProduct) {
  const KernelWork one = Conv2dRowsWork(Conv2dWorkGeometry(16, 64, 1), 4);
  const KernelWork six = Conv2dRowsWork(Conv2dWorkGeometry(16, 64, 6), 4);
  EXPECT_DOUBLE_EQ(one.loads / one.flops, 6 * six.loads / six.flops);
}

// Depthwise kernels exist because products of single channels are slow.
TEST(Conv2dWork, DepthwiseLayersTakeLongestAsProducts) {
  Conv2dGeometry g = Conv2dWorkGeometry(64, 28, 64);
  g.groups = 64;
  g.nhwc = true;
  for (const Conv2dDirection direction : kDirections) {
    EXPECT_LT(5 * Seconds(Conv2dDirectWork(g, direction, 4)),
              Seconds(Conv2dGemmWork(g, direction, 4)));
  }
}

// One image is one tile: a second thread has nothing to do.
TEST(Conv2dWork, ThreadsShareTiles) {
  const Conv2dGeometry small = Conv2dWorkGeometry(16, 7, 16);
  const KernelWork work = Conv2dGemmWork(small, Conv2dDirection::kForward, 4);
  EXPECT_EQ(work.max_threads, 1);
  EXPECT_DOUBLE_EQ(Seconds(work, 2), Seconds(work, 1));
}

TEST(Conv2dWork, RowsAMultipleOfAPageApartShareSets) {
  EXPECT_EQ(AliasedReads(1024), 0);
  EXPECT_EQ(AliasedReads(4096 + 512), 0);
  EXPECT_GT(AliasedReads(2048), 0);
  EXPECT_GT(AliasedReads(8192), AliasedReads(2048));
}

}  // namespace
}  // namespace sluice
