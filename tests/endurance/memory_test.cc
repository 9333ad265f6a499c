// Device memory that runs out, and memory that must not grow.
#include <chrono>
#include <cstdio>
#include <vector>

#include "tests/endurance/endurance_test.h"
#include "tests/examples/lenet.h"
#include "tests/testing/expect_error.h"
#include <cuda_runtime.h>
#include <unistd.h>

#include "sluice/memory/allocator.h"
#include "sluice/memory/testing.h"
#include "sluice/platform/cuda/cuda_check.h"

namespace sluice::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class CUDAEnduranceMemory : public EnduranceTest {
 protected:
  void SetUp() override {
    EnduranceTest::SetUp();
    if (IsSkipped()) return;
    limit_ = Stats(kGPU).limit;
    // Only allocated memory counts here, not its contents.
    SetFillFreshMemory(false);
  }
  void TearDown() override {
    if (limit_ > 0) SetLimit(kGPU, limit_);
  }
  static size_t Free() {
    size_t free = 0, total = 0;
    CheckCUDA(cudaMemGetInfo(&free, &total), "asking for memory");
    return free;
  }
  static float RunOnce() {
    return RunOp("sqrt", {{"X", Tensor::FromVector<float>({1}, {49})}}, {},
                 {.hint = "require place=cuda:0"})["Out"]
        .data<float>()[0];
  }

  size_t limit_ = 0;
};

TEST_F(CUDAEnduranceMemory, MoreThanTheDeviceHasIsRefusedWithTheFigures) {
  size_t free = 0, total = 0;
  CheckCUDA(cudaMemGetInfo(&free, &total), "asking for memory");
  const auto text = [](size_t size) {
    return ShortBytes(static_cast<double>(size), 3);
  };
  for (const size_t limit : {limit_, 8 * total}) {
    SetLimit(kGPU, limit);
    for (int i = 0; i < 20; ++i) {
      ExpectError(ErrorCode::kResourceExhausted, "memory.exhausted",
                  {"cuda:0", text(total + kMiB), "in use", "peak", "reserved",
                   "limit " + text(limit)},
                  [&] { Alloc(kGPU, total + kMiB); });
    }
  }
  EXPECT_EQ(RunOnce(), 7);
}

TEST_F(CUDAEnduranceMemory, AFullDeviceRefusesARunAndWorksOnceThereIsRoom) {
  constexpr size_t kBlock = 16 * kMiB;
  ReleaseCache(kGPU);
  SetLimit(kGPU, Stats(kGPU).reserved + 256 * kMiB);
  std::vector<UniqueMemory> blocks;
  const auto fill = [&] {
    while (blocks.size() < 100) {
      blocks.push_back(AllocUnique(kGPU, kBlock));
    }
  };
  ExpectError(ErrorCode::kResourceExhausted, "memory.exhausted",
              {"no room for 16.8 MB on cuda:0", "reserved"}, fill);
  EXPECT_EQ(blocks.size(), 16u);
  EXPECT_EQ(RunOp("sqrt", {{"X", Tensor::FromVector<float>({1}, {4})}}, {},
                  {.hint = "require place=cpu"})["Out"]
                .data<float>()[0],
            2);
  ExpectError(ErrorCode::kResourceExhausted, "memory.exhausted", {"cuda:0"},
              [] { RunOnce(); });
  blocks.pop_back();
  EXPECT_EQ(RunOnce(), 7);
}

size_t ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  size_t size = 0, resident = 0;
  const int read = std::fscanf(file, "%zu %zu", &size, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<size_t>(getpagesize()) : 0;
}

TEST_F(CUDAEnduranceMemory, TenThousandRunsKeepItFlat) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kSlack = 8 * kMiB;
  LeNetTraining training(kOnGPU);
  const int warm_up = Rounds(500, 20);
  training.Steps(warm_up);
  const auto stats = Stats(kGPU);
  const size_t free = Free();
  const size_t resident = ResidentBytes();
  // In the emulation, as many runs as the time allows.
  const auto end = Clock::now() + std::chrono::seconds(10);
  int runs = 0;
  while (runs < 10'000 && (!CUDAIsEmulated() || Clock::now() < end)) {
    training.Step();
    ++runs;
  }
  RecordProperty("runs", runs);
  const auto stats_after = Stats(kGPU);
  EXPECT_EQ(stats_after.in_use, stats.in_use);
  EXPECT_EQ(stats_after.reserved, stats.reserved);
  EXPECT_GE(Free() + kSlack, free) << "of the device, after " << runs;
  EXPECT_LE(ResidentBytes(), resident + kSlack)
      << "of the host, after " << runs;
}

}  // namespace
}  // namespace sluice::testing
