// A user's own OpenMP code with ParallelFor; built with OpenMP flags.
#include <atomic>

#include <gtest/gtest.h>
#include <omp.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

TEST(CallersRegionTest, IsSeenInTheCallersRegionOnly) {
  EXPECT_FALSE(InCallersParallelRegion());
  std::atomic<int> seen{0};
#pragma omp parallel num_threads(2)
  {
    if (InCallersParallelRegion()) ++seen;
  }
  EXPECT_EQ(seen, 2);
  EXPECT_FALSE(InCallersParallelRegion());
}

TEST(CallersRegionTest, IsNotSeenInOurOwnShards) {
  ThreadCountGuard guard(2);
  std::atomic<int> seen{0};
  ParallelFor(2, 1, [&](int64_t, int64_t) {
    if (InCallersParallelRegion()) ++seen;
  });
  EXPECT_EQ(seen, 0);
}

TEST(CallersRegionTest, LoopInsideRunsSerially) {
  std::atomic<int> calls{0};
#pragma omp parallel num_threads(2)
  {
    ThreadCountGuard guard(4);
    ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
      if (begin == 0 && end == 100) ++calls;
    });
  }
  EXPECT_EQ(calls, 2);
}

TEST(CallersRegionTest, TheCallersDynamicSettingIsKept) {
  ThreadCountGuard guard(2);
  omp_set_dynamic(1);
  ParallelFor(2, 1, [](int64_t, int64_t) {});
  EXPECT_NE(omp_get_dynamic(), 0);
  omp_set_dynamic(0);
}

}  // namespace
}  // namespace sluice
