#include "sluice/memory/testing.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/memory/fake_kind.h"
#include "tests/testing/allocation_sweep.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/memory/allocator.h"
#include "sluice/memory/copy.h"
#include "sluice/memory/memory.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::LiveAllocations;
using sluice::testing::ScopedFailAllocation;
using sluice::testing::SweepAllocationFailures;

template <typename T>
void ExpectNaNs(const void* memory, size_t bytes) {
  for (size_t offset = 0; offset + sizeof(T) <= bytes; offset += sizeof(T)) {
    T value;
    std::memcpy(&value, static_cast<const char*>(memory) + offset, sizeof(T));
    ASSERT_TRUE(std::isnan(value)) << "at " << offset;
  }
}

TEST(PoisonTest, IsANaNInEveryFloatingType) {
  const uint64_t poison[2] = {kPoison, kPoison};
  ExpectNaNs<float>(poison, sizeof(poison));
  ExpectNaNs<double>(poison, sizeof(poison));
  for (int shift = 0; shift < 64; shift += 16) {
    const auto half = static_cast<uint16_t>(kPoison >> shift);
    EXPECT_EQ(half & 0x7C00, 0x7C00);  // float16: exponent
    EXPECT_NE(half & 0x03FF, 0);       //          mantissa
    EXPECT_EQ(half & 0x7F80, 0x7F80);  // bfloat16
    EXPECT_NE(half & 0x007F, 0);
  }
  EXPECT_EQ(kPoison >> 51 & 1, 0u) << "signalling as a float64";
  EXPECT_EQ(kPoison >> 22 & 1, 0u) << "signalling as the first float32";
}

TEST(FillFreshMemoryTest, FillsFreshAndReusedHostMemory) {
  SetFillFreshMemory(true);
  for (size_t bytes : {size_t{4}, size_t{1004}, size_t{3} << 20}) {
    for (int round = 0; round < 2; ++round) {
      const UniqueMemory memory = AllocUnique(CPUPlace{}, bytes);
      ExpectNaNs<float>(memory.get(), bytes);
      std::memset(memory.get(), 0, bytes);
    }
  }
}

TEST(FillFreshMemoryTest, FillsDeviceMemory) {
  static auto* fake = new sluice::testing::FakeKind("fill_test");
  SetFillFreshMemory(true);
  const size_t bytes = 100'000;
  const UniqueMemory memory = AllocUnique(fake->place(0), bytes);
  std::vector<char> got(bytes);
  Copy(CPUPlace{}, got.data(), fake->place(0), memory.get(), bytes);
  ExpectNaNs<double>(got.data(), bytes);
}

TEST(FillFreshMemoryTest, LeavesMemoryAloneWhenItIsOff) {
  SetFillFreshMemory(false);
  float* data = static_cast<float*>(Alloc(CPUPlace{}, 4000));
  std::fill(data, data + 1000, 1.0f);
  Free(CPUPlace{}, data);
  auto* again = static_cast<float*>(Alloc(CPUPlace{}, 4000));
  ASSERT_EQ(again, data);
  EXPECT_EQ(again[500], 1.0f);
  Free(CPUPlace{}, again);
}

TEST(FailAllocationTest, CountsWithoutFailing) {
  const ScopedFailAllocation count(0, FailMode::kOnce);
  Free(CPUPlace{}, Alloc(CPUPlace{}, 64));
  const int64_t first = AllocationCount();
  EXPECT_GE(first, 1);
  const auto object = std::make_unique<int>(1);
  EXPECT_EQ(AllocationCount(), first + 1);
}

TEST(FailAllocationTest, AnOnceFailedAllocIsCuredByTheRetry) {
  Free(CPUPlace{}, Alloc(CPUPlace{}, 5000));
  {
    const ScopedFailAllocation fail(1, FailMode::kOnce);
    Free(CPUPlace{}, Alloc(CPUPlace{}, 64));
  }
  EXPECT_EQ(Stats(CPUPlace{}).reserved - Used(CPUPlace{}), 64u)
      << "the retry comes after giving the cache back";
}

TEST(FailAllocationTest, ALastingFailureIsANamedErrorFromTheKthOn) {
  const UniqueMemory cached = AllocUnique(CPUPlace{}, 64);
  Free(CPUPlace{}, Alloc(CPUPlace{}, 64));
  std::string text;
  int granted = 0;
  {
    const ScopedFailAllocation fail(3, FailMode::kFromKOn);
    try {
      while (granted < 10) {
        Free(CPUPlace{}, Alloc(CPUPlace{}, 64));
        ++granted;
      }
    } catch (const Error& error) {
      CancelFailAllocation();
      EXPECT_EQ(error.check_id(), "memory.exhausted");
      text = error.what();
    }
  }
  EXPECT_EQ(granted, 2);
  EXPECT_NE(text.find("64 B on cpu"), std::string::npos) << text;
  EXPECT_NE(text.find("the limit is not reached"), std::string::npos) << text;
}

TEST(FailAllocationTest, FailsOperatorNewAlike) {
  bool failed = false;
  {
    const ScopedFailAllocation fail(1, FailMode::kOnce);
    try {
      const auto object = std::make_unique<std::array<int, 100>>();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  }
  EXPECT_TRUE(failed);
}

TEST(CountingNewTest, SeesWhatIsAliveAlsoInsideTheLibrary) {
  const int64_t before = LiveAllocations();
  {
    const std::string text = Format("{}", std::string(100, 'x'));
    EXPECT_EQ(LiveAllocations(), before + 1);
  }
  EXPECT_EQ(LiveAllocations(), before);
}

TEST(AllocationSweepTest, EveryAllocationOfACopyBetweenDevicesMayFail) {
  static auto* fake = new sluice::testing::FakeKind("sweep_test");
  const size_t bytes = size_t{3} << 19;
  const std::vector<char> sent(bytes, 'a');
  std::vector<char> got(bytes);
  const auto result = SweepAllocationFailures([&] {
    std::fill(got.begin(), got.end(), 'b');
    const UniqueMemory a = AllocUnique(fake->place(0), bytes);
    const UniqueMemory b = AllocUnique(fake->place(1), bytes);
    Copy(fake->place(0), a.get(), CPUPlace{}, sent.data(), bytes);
    Copy(fake->place(1), b.get(), fake->place(0), a.get(), bytes);
    Copy(CPUPlace{}, got.data(), fake->place(1), b.get(), bytes);
    if (got != sent) throw std::logic_error("wrong bytes");
  });
  EXPECT_GE(result.allocations, 3);
  EXPECT_GE(result.cured, 3);
  EXPECT_GE(result.refused, 3);
}

TEST(AllocationSweepTest, ThreadsAreCountedTogether) {
  const ScopedFailAllocation count(0, FailMode::kOnce);
  const auto work = [] {
    for (int i = 0; i < 100; ++i)
      Free(CPUPlace{}, Alloc(CPUPlace{}, 64));
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_GE(AllocationCount(), 200);
}

}  // namespace
}  // namespace sluice
