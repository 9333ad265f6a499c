#include "sluice/memory/memory.h"

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/memory/allocator.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/place.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

TEST(MemoryTest, UsedFollowsAllocAndFreeOfEveryFormOfPlace) {
  const size_t before = Used(CPUPlace{});
  void* a = Alloc(CPUPlace{}, 4096);
  void* b = Alloc(Place(CPUPlace{}), 100);
  void* c = Alloc(PlaceKey(), 1);
  EXPECT_EQ(Used(PlaceKey()), before + 4197);
  EXPECT_EQ(Stats(CPUPlace{}).in_use, before + 4197);
  Free(Place(CPUPlace{}), c);
  Free(PlaceKey(), b);
  Free(CPUPlace{}, a);
  EXPECT_EQ(Used(Place()), before);
}

TEST(MemoryTest, APlaceWithoutADeviceIsANamedError) {
  // As in a build without CUDA: no module provides the kind.
  auto& manager = DeviceManager::Instance();
  manager.SetKindLoader([](PlaceKind) {});
  ExpectError(ErrorCode::kUnimplemented, "device.no_cuda",
              {"cuda:0", "CUDA cannot be used", "SLUICE_CUDA=ON", "cpu"},
              [] { Alloc(CUDAPlace{}, 16); });
  manager.SetKindLoader(nullptr);
}

TEST(MemoryTest, AnUnusedPlaceUsesNothing) {
  EXPECT_EQ(Used(CUDAPlace{5}), 0u);
  Free(CPUPlace{}, Alloc(CPUPlace{}, 1));
  EXPECT_EQ(UsedPlaces().at(0), PlaceKey());
  for (PlaceKey place : UsedPlaces())
    EXPECT_NE(place.index, 5);
}

TEST(MemoryTest, FreeingOnAPlaceThatNobodyUsedIsANamedError) {
  void* pointer = Alloc(CPUPlace{}, 16);
  ExpectError(ErrorCode::kInvalidArgument, "memory.free_unused_place",
              {"cuda:0"}, [&] { Free(CUDAPlace{}, pointer); });
  Free(CPUPlace{}, pointer);
  Free(CUDAPlace{}, nullptr);
}

TEST(MemoryTest, UniqueMemoryIsFreedWithItsOwner) {
  const size_t before = Used(CPUPlace{});
  {
    const UniqueMemory memory = AllocUnique(CPUPlace{}, 500);
    EXPECT_EQ(Used(CPUPlace{}), before + 500);
  }
  EXPECT_EQ(Used(CPUPlace{}), before);
}

TEST(MemoryTest, MoreThanTheMachineHasIsANamedError) {
  const size_t limit = Stats(CPUPlace{}).limit;
  ExpectError(ErrorCode::kResourceExhausted, "memory.exhausted",
              {"cpu", "limit " + ShortBytes(static_cast<double>(limit), 3)},
              [&] { Alloc(CPUPlace{}, limit + 1); });
}

TEST(MemoryTest, TheLimitOfAPlaceCanBeSet) {
  const size_t limit = Stats(CPUPlace{}).limit;
  SetLimit(CPUPlace{}, Stats(CPUPlace{}).reserved + 1000);
  EXPECT_THROW(Alloc(CPUPlace{}, 10'000'000), Error);
  SetLimit(CPUPlace{}, limit);
  Free(CPUPlace{}, Alloc(CPUPlace{}, 10'000'000));
}

TEST(MemoryTest, ResetPeakStartsFromWhatIsInUse) {
  Free(CPUPlace{}, Alloc(CPUPlace{}, 100'000));
  ResetPeak(CPUPlace{});
  EXPECT_EQ(Stats(CPUPlace{}).peak, Used(CPUPlace{}));
}

TEST(MemoryTest, ReleaseCacheLeavesWhatIsInUse) {
  const UniqueMemory memory = AllocUnique(CPUPlace{}, 64);
  Free(CPUPlace{}, Alloc(CPUPlace{}, 100'000));
  EXPECT_GE(ReleaseCache(CPUPlace{}), 100'000u);
  EXPECT_GE(Stats(CPUPlace{}).reserved, 64u);
}

}  // namespace
}  // namespace sluice
