#include "sluice/memory/allocator.h"

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "tests/testing/expect_error.h"
#include "tests/testing/fake_device.h"
#include <gtest/gtest.h>

#include "sluice/memory/testing.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;
using sluice::testing::FakeDevice;
using sluice::testing::FakeDeviceState;

constexpr size_t kMiB = size_t{1} << 20;

class CachingAllocatorTest : public ::testing::Test {
 protected:
  static FakeDeviceState HostLike() {
    FakeDeviceState state;
    state.host_accessible = true;
    return state;
  }

  FakeDeviceState state_ = HostLike();
  FakeDevice device_{CUDAPlace{3}, &state_};
  CachingAllocator allocator_{device_};
};

TEST_F(CachingAllocatorTest, MemoryIsAlignedWritableAndDistinct) {
  std::vector<std::pair<void*, size_t>> live;
  for (size_t bytes : {1, 63, 64, 65, 1000, 4097, 100000, 3000000}) {
    void* pointer = allocator_.Alloc(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % 64, 0u);
    std::memset(pointer, static_cast<int>(live.size()), bytes);
    live.emplace_back(pointer, bytes);
  }
  for (size_t i = 0; i < live.size(); ++i) {
    const auto* data = static_cast<const char*>(live[i].first);
    EXPECT_EQ(data[0], static_cast<char>(i));
    EXPECT_EQ(data[live[i].second - 1], static_cast<char>(i));
    allocator_.Free(live[i].first);
  }
}

TEST_F(CachingAllocatorTest, ZeroBytesGiveAPointerOfTheirOwn) {
  void* a = allocator_.Alloc(0);
  void* b = allocator_.Alloc(0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ(allocator_.stats().in_use, 0u);
  allocator_.Free(a);
  allocator_.Free(b);
}

TEST_F(CachingAllocatorTest, FiguresFollowWhatIsInUse) {
  void* a = allocator_.Alloc(1000);
  void* b = allocator_.Alloc(100);
  MemoryStats stats = allocator_.stats();
  EXPECT_EQ(stats.in_use, 1100u);
  EXPECT_EQ(stats.peak, 1100u);
  EXPECT_EQ(stats.reserved, 1024u + 128u);
  EXPECT_EQ(stats.limit, state_.limit);
  EXPECT_EQ(stats.allocations, 2);
  EXPECT_EQ(stats.system_allocations, 2);
  EXPECT_EQ(stats.cached_hits, 0);
  allocator_.Free(a);
  stats = allocator_.stats();
  EXPECT_EQ(stats.in_use, 100u);
  EXPECT_EQ(stats.peak, 1100u);
  EXPECT_EQ(stats.reserved, 1024u + 128u);
  allocator_.ResetPeak();
  EXPECT_EQ(allocator_.stats().peak, 100u);
  allocator_.Free(b);
  EXPECT_EQ(ToString(allocator_.stats()),
            "in use 0 B, peak 100 B, reserved 1152 B, limit 1073741824 B");
}

TEST_F(CachingAllocatorTest, AFreedBlockServesTheNextRequestOfItsClass) {
  void* a = allocator_.Alloc(1000);
  allocator_.Free(a);
  EXPECT_EQ(allocator_.Alloc(980), a);
  EXPECT_EQ(allocator_.stats().cached_hits, 1);
  EXPECT_EQ(state_.allocations, 1);
  EXPECT_NE(allocator_.Alloc(980), a);
  EXPECT_EQ(state_.allocations, 2);
}

TEST_F(CachingAllocatorTest, ALargeBlockServesSlightlySmallerRequestsOnly) {
  void* a = allocator_.Alloc(10 * kMiB);
  allocator_.Free(a);
  EXPECT_EQ(allocator_.Alloc(9 * kMiB), a);
  allocator_.Free(a);
  EXPECT_NE(allocator_.Alloc(8 * kMiB), a);
  EXPECT_NE(allocator_.Alloc(11 * kMiB), a);
}

TEST_F(CachingAllocatorTest, ReleasingTheCacheGivesItBackToTheSystem) {
  void* a = allocator_.Alloc(1000);
  void* b = allocator_.Alloc(2 * kMiB);
  void* c = allocator_.Alloc(64);
  allocator_.Free(a);
  allocator_.Free(b);
  EXPECT_EQ(allocator_.ReleaseCache(), 1024 + 2 * kMiB);
  EXPECT_EQ(state_.freed_bytes, 1024 + 2 * kMiB);
  EXPECT_EQ(allocator_.stats().reserved, 64u);
  EXPECT_EQ(allocator_.ReleaseCache(), 0u);
  allocator_.Free(c);
}

TEST_F(CachingAllocatorTest, ReleasesBlocksOfASizeAndMore) {
  void* small = allocator_.Alloc(2 * kMiB);
  void* a = allocator_.Alloc(3 * kMiB);
  void* b = allocator_.Alloc(5 * kMiB);
  allocator_.Free(a);
  allocator_.Free(small);
  allocator_.Free(b);
  EXPECT_EQ(allocator_.ReleaseCache(3 * kMiB), 8 * kMiB);
  EXPECT_EQ(allocator_.stats().reserved, 2 * kMiB);
  EXPECT_EQ(allocator_.Alloc(2 * kMiB), small);
}

TEST_F(CachingAllocatorTest, TheCacheKeepsAtMostAQuarterOfTheLimit) {
  allocator_.SetLimit(64 * kMiB);
  std::vector<void*> live;
  for (int i = 0; i < 12; ++i)
    live.push_back(allocator_.Alloc(4 * kMiB));
  for (int i = 0; i < 100; ++i)
    live.push_back(allocator_.Alloc(1000));
  for (void* pointer : live) {
    allocator_.Free(pointer);
    const MemoryStats stats = allocator_.stats();
    size_t rounded_in_use = stats.in_use + stats.in_use / 8;
    ASSERT_LE(stats.reserved, rounded_in_use + 16 * kMiB);
  }
  EXPECT_GE(allocator_.stats().reserved, 8 * kMiB);
}

TEST_F(CachingAllocatorTest, BlocksThatNobodyAsksForDoNotPileUp) {
  allocator_.SetLimit(size_t{64} << 30);
  for (const size_t mib : {150, 180, 210, 240, 270, 310}) {
    allocator_.Free(allocator_.Alloc(mib * kMiB));
    ASSERT_LE(allocator_.stats().reserved, (512 + mib) * kMiB);
  }
  EXPECT_GE(allocator_.stats().reserved, 310 * kMiB);
}

TEST_F(CachingAllocatorTest, AsMuchAsIsInUseStaysCached) {
  allocator_.SetLimit(size_t{64} << 30);
  void* used = allocator_.Alloc(700 * kMiB);
  for (const size_t mib : {300, 350, 10}) {
    allocator_.Free(allocator_.Alloc(mib * kMiB));
  }
  EXPECT_EQ(allocator_.stats().reserved, (700 + 300 + 350 + 10) * kMiB);
  allocator_.Free(used);
}

TEST_F(CachingAllocatorTest, SmallBlocksStayCachedBeforeLargeOnes) {
  allocator_.SetLimit(64 * kMiB);
  void* large = allocator_.Alloc(16 * kMiB);
  void* small = allocator_.Alloc(1000);
  allocator_.Free(large);
  allocator_.Free(small);
  EXPECT_EQ(allocator_.stats().reserved, 1024u);
}

TEST_F(CachingAllocatorTest, ABlockLargerThanTheWholeCacheIsNotKept) {
  allocator_.SetLimit(64 * kMiB);
  void* small = allocator_.Alloc(1000);
  allocator_.Free(small);
  allocator_.Free(allocator_.Alloc(17 * kMiB));
  EXPECT_EQ(allocator_.stats().reserved, 1024u);
}

TEST_F(CachingAllocatorTest, PastTheLimitIsANamedErrorWithTheFigures) {
  allocator_.SetLimit(kMiB);
  void* a = allocator_.Alloc(300000);
  allocator_.Free(allocator_.Alloc(500000));
  ExpectError(ErrorCode::kResourceExhausted, "memory.exhausted",
              {"room for 900 kB on cuda:3: in use 300 kB, peak 800 kB, "
               "reserved 328 kB, limit 1.05 MB"},
              [&] { allocator_.Alloc(900000); });
  EXPECT_EQ(allocator_.stats().in_use, 300000u);
  void* b = allocator_.Alloc(700000);
  allocator_.Free(a);
  allocator_.Free(b);
}

TEST_F(CachingAllocatorTest, ARequestThatFitsExactlyIsGranted) {
  allocator_.SetLimit(1000064);
  allocator_.Free(allocator_.Alloc(1000064));
  EXPECT_EQ(allocator_.stats().peak, 1000064u);
}

TEST_F(CachingAllocatorTest, ImpossibleSizesAreRefused) {
  for (size_t bytes : {SIZE_MAX, SIZE_MAX - 63, size_t{1} << 63, kMaxBytes + 1,
                       kMaxBytes, size_t{1} << 40}) {
    EXPECT_THROW(allocator_.Alloc(bytes), Error) << bytes;
  }
  EXPECT_EQ(state_.allocations, 0);
}

TEST_F(CachingAllocatorTest, ALowerLimitReleasesWhatIsTooMuchInTheCache) {
  allocator_.Free(allocator_.Alloc(2 * kMiB));
  allocator_.SetLimit(kMiB);
  EXPECT_EQ(allocator_.stats().reserved, 0u);
}

TEST_F(CachingAllocatorTest, AFailingSystemIsAskedAgainWithAnEmptyCache) {
  allocator_.Free(allocator_.Alloc(5000));
  state_.failing_allocations = 1;
  void* a = allocator_.Alloc(1000);
  EXPECT_EQ(state_.frees, 1);
  allocator_.Free(a);
}

TEST_F(CachingAllocatorTest, ASystemThatKeepsFailingIsANamedError) {
  state_.failing_allocations = 100;
  ExpectError(ErrorCode::kResourceExhausted, "memory.exhausted",
              {"room for 1.00 kB", "cuda:3", "the limit is not reached"},
              [&] { allocator_.Alloc(1000); });
  state_.failing_allocations = 0;
  allocator_.Free(allocator_.Alloc(1000));
  EXPECT_EQ(allocator_.stats().reserved, 1024u);
}

TEST_F(CachingAllocatorTest, FreeingTwiceIsANamedError) {
  void* a = allocator_.Alloc(100);
  allocator_.Free(a);
  ExpectError(ErrorCode::kInvalidArgument, "memory.free_twice",
              {"cuda:3", "freed before"}, [&] { allocator_.Free(a); });
  EXPECT_EQ(allocator_.Alloc(100), a);
  EXPECT_NE(allocator_.Alloc(100), a);
}

TEST_F(CachingAllocatorTest, FreeingWhatIsNotItsOwnIsANamedError) {
  char* a = static_cast<char*>(allocator_.Alloc(100));
  int local = 0;
  for (void* pointer : {static_cast<void*>(&local), static_cast<void*>(a + 1),
                        static_cast<void*>(a + 64)}) {
    ExpectError(ErrorCode::kInvalidArgument, "memory.free_unknown", {"cuda:3"},
                [&] { allocator_.Free(pointer); });
  }
  EXPECT_EQ(allocator_.stats().in_use, 100u);
  allocator_.Free(a);
}

TEST_F(CachingAllocatorTest, FreeingNullIsFine) {
  allocator_.Free(nullptr);
}

TEST_F(CachingAllocatorTest, OwnsWhatIsInUse) {
  void* a = allocator_.Alloc(100);
  EXPECT_TRUE(allocator_.Owns(a));
  EXPECT_FALSE(allocator_.Owns(static_cast<char*>(a) + 1));
  allocator_.Free(a);
  EXPECT_FALSE(allocator_.Owns(a));
}

TEST_F(CachingAllocatorTest, ItsEndGivesEverythingBack) {
  {
    CachingAllocator allocator(device_);
    allocator.Alloc(100);
    allocator.Free(allocator.Alloc(5000));
  }
  EXPECT_EQ(state_.allocations, 2);
  EXPECT_EQ(state_.frees, 2);
}

TEST_F(CachingAllocatorTest, ThreadsGetMemoryOfTheirOwn) {
  const auto work = [&](int seed) {
    std::vector<std::pair<int*, int>> live;
    for (int i = 0; i < 2000; ++i) {
      const int count = (i * 37 + seed * 101) % 700 + 1;
      auto* data = static_cast<int*>(allocator_.Alloc(count * sizeof(int)));
      data[0] = data[count - 1] = seed;
      live.emplace_back(data, count);
      if (live.size() < 20) continue;
      const auto [old, old_count] = live[i % live.size()];
      ASSERT_EQ(old[0], seed);
      ASSERT_EQ(old[old_count - 1], seed);
      allocator_.Free(old);
      live.erase(live.begin() + static_cast<int>(i % live.size()));
    }
    for (auto& [data, count] : live)
      allocator_.Free(data);
  };
  std::vector<std::thread> threads;
  for (int seed = 1; seed <= 4; ++seed)
    threads.emplace_back(work, seed);
  for (auto& thread : threads)
    thread.join();
  const MemoryStats stats = allocator_.stats();
  EXPECT_EQ(stats.in_use, 0u);
  EXPECT_EQ(stats.allocations, 8000);
  EXPECT_EQ(stats.allocations, stats.system_allocations + stats.cached_hits);
}

}  // namespace
}  // namespace sluice
