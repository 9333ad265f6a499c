// Planted mistakes of kernels and their callers: the emulation must detect each
// one every time, unlike a GPU.
#include <numeric>

#include "tests/platform/cuda/emulated_cuda_test.h"
#include "tests/testing/child_process.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/resource_limit.h"

#include "sluice/memory/allocator.h"
#include "sluice/memory/memory.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

using cuda_emulation::StreamMode;
using ::sluice::testing::DeviceArray;
using ::sluice::testing::ExpectError;
using ::sluice::testing::InEveryOrder;
using Floats = std::vector<float>;
class CUDAFaults : public ::sluice::testing::EmulatedCUDATest {};
class CUDAFaultsDeathTest : public ::sluice::testing::EmulatedCUDATest {};

constexpr int kThreads = 128;

enum class Mistake { kNone, kNoBarrierAfterWrite, kNoBarrierBeforeReuse };

// Reverses each block of kThreads numbers, twice.
template <Mistake mistake>
__global__ void TurnTwice(const float* in, float* out) {
  SLUICE_SHARED_ARRAY(float, buffer, [kThreads]);
  const int i = threadIdx.x;
  const int64_t at = int64_t{blockIdx.x} * kThreads + i;
  buffer[i] = in[at];
  if (mistake != Mistake::kNoBarrierAfterWrite) __syncthreads();
  const float turned = buffer[kThreads - 1 - i];
  if (mistake != Mistake::kNoBarrierBeforeReuse) __syncthreads();
  buffer[i] = turned + 1;
  __syncthreads();
  out[at] = buffer[kThreads - 1 - i];
}

template <Mistake mistake>
bool TurnsRight(CUDADeviceContext& context) {
  Floats numbers(2 * kThreads);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  const DeviceArray<float> in(context, numbers);
  const DeviceArray<float> out(context, Floats(numbers.size()));
  Launch<TurnTwice<mistake>>({context, dim3(2), dim3(kThreads)}, in.get(),
                             out.get());
  for (float& number : numbers) {
    ++number;
  }
  return out.Fetch() == numbers;
}

TEST_F(CUDAFaults, AMissingBarrierGivesWrongNumbersInEveryOrder) {
  InEveryOrder([&] {
    EXPECT_TRUE(TurnsRight<Mistake::kNone>(context()));
    EXPECT_FALSE(TurnsRight<Mistake::kNoBarrierAfterWrite>(context()));
    EXPECT_FALSE(TurnsRight<Mistake::kNoBarrierBeforeReuse>(context()));
  });
}

__global__ void WriteAt(float* out, int64_t index) {
  out[index] = 1;
}
__global__ void ReadAt(const float* in, float* out, int64_t index) {
  *out = in[index];
}

TEST_F(CUDAFaults, AWriteOnePastTheEndNamesTheKernel) {
  for (const size_t size : {1, 2, 3, 63, 64, 100, 1024, 3333, 300000}) {
    const DeviceArray<float> out(context(), Floats(size));
    Launch<WriteAt>({context(), dim3(1), dim3(1)}, out.get(), size - 1);
    context().Wait();
    Launch<WriteAt>({context(), dim3(1), dim3(1)}, out.get(), size);
    ExpectError(ErrorCode::kDeviceLost, "cuda.call",
                {"cuda:0", "WriteAt", "of allocation"},
                [&] { context().Wait(); });
    cuda_emulation::ClearFault();
  }
}

TEST_F(CUDAFaults, AWriteBeforeTheBeginningNamesTheKernel) {
  const DeviceArray<float> out(context(), Floats(10));
  Launch<WriteAt>({context(), dim3(1), dim3(1)}, out.get(), -1);
  ExpectError(ErrorCode::kDeviceLost, "cuda.call",
              {"WriteAt", "is byte -4 of allocation"},
              [&] { context().Wait(); });
}

TEST_F(CUDAFaults, AnAccessFarOutNamesTheThread) {
  const DeviceArray<float> out(context(), Floats(10));
  Launch<ReadAt>({context(), dim3(1), dim3(1)}, out.get(), out.get(), 1 << 20);
  ExpectError(ErrorCode::kDeviceLost, "cuda.call",
              {"ReadAt, block (0, 0, 0), thread (0, 0, 0)", "illegal read"},
              [&] { context().Wait(); });
}

TEST_F(CUDAFaults, UseAfterFreeIsNoticedInTheCacheAndBeyond) {
  for (const bool cached : {true, false}) {
    auto memory = AllocUnique(kPlace, 100);
    auto* pointer = static_cast<float*>(memory.get());
    memory.reset();
    if (!cached) ReleaseCache(kPlace);
    Launch<WriteAt>({context(), dim3(1), dim3(1)}, pointer, 0);
    ExpectError(ErrorCode::kDeviceLost, "cuda.call", {"WriteAt", "illegal"},
                [&] { context().Wait(); });
    cuda_emulation::ClearFault();
  }
}

__global__ void UseHostMemory(float* host) {
  *host = 1;
}

TEST_F(CUDAFaults, AddressesOfTheHostAreNotTheDevices) {
  Launch<UseHostMemory>({context(), dim3(1), dim3(1)}, nullptr);
  ExpectError(ErrorCode::kDeviceLost, "cuda.call",
              {"UseHostMemory", "host memory"}, [&] { context().Wait(); });
}

__global__ void HalfOfThemWait() {
  if (threadIdx.x < 64) __syncthreads();
}
__global__ void TwoBarriers() {
  if (threadIdx.x < 64) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void ShuffleFromFinished(int* out) {
  if (threadIdx.x >= 16) return;
  *out = __shfl_sync(0xFFFFFFFF, 1, 20);
}

TEST_F(CUDAFaults, DivergentBarriersAreReported) {
  InEveryOrder([&] {
    Launch<HalfOfThemWait>({context(), dim3(1), dim3(kThreads)});
    ExpectError(ErrorCode::kDeviceLost, "cuda.call",
                {"HalfOfThemWait", "barrier divergence",
                 "threads 0 to 63 wait at the barrier",
                 "threads 64 to 127 have finished", "faults_emulated_test.cu"},
                [&] { context().Wait(); });
  });
  InEveryOrder([&] {
    Launch<TwoBarriers>({context(), dim3(1), dim3(kThreads)});
    ExpectError(ErrorCode::kDeviceLost, "cuda.call",
                {"TwoBarriers", "barrier divergence"},
                [&] { context().Wait(); });
  });
}

TEST_F(CUDAFaults, AShuffleFromALaneThatTakesNoPartIsReported) {
  const DeviceArray<int> out(context(), {0});
  Launch<ShuffleFromFinished>({context(), dim3(1), dim3(32)}, out.get());
  ExpectError(ErrorCode::kDeviceLost, "cuda.call",
              {"ShuffleFromFinished", "lane 20", "takes no part"},
              [&] { context().Wait(); });
}

__global__ void PastTheSharedArray(int index) {
  SLUICE_SHARED_ARRAY(float, first, [16]);
  SLUICE_SHARED_ARRAY(float, second, [16]);
  first[0] = second[0] = 0;
  second[index] = 1;
}
__global__ void PastTheDynamicArray(int index) {
  SLUICE_DYNAMIC_SHARED(float, buffer);
  buffer[index] = 1;
}

TEST_F(CUDAFaults, WritesPastSharedArraysAreReported) {
  for (const int index : {-1, 16}) {
    Launch<PastTheSharedArray>({context(), dim3(1), dim3(1)}, index);
    ExpectError(ErrorCode::kDeviceLost, "cuda.call",
                {"PastTheSharedArray", "outside of shared array"},
                [&] { context().Wait(); });
    cuda_emulation::ClearFault();
  }
  Launch<PastTheDynamicArray>({context(), dim3(1), dim3(1), 64}, 16);
  ExpectError(ErrorCode::kDeviceLost, "cuda.call",
              {"PastTheDynamicArray", "out of dynamic shared memory"},
              [&] { context().Wait(); });
}

__global__ void UseStack(int depth, int* out) {
  volatile char room[4096];
  room[0] = static_cast<char>(depth);
  if (depth > 0) UseStack(depth - 1, out);
  *out += room[0];
}

TEST_F(CUDAFaults, AStackOverflowIsReported) {
  const DeviceArray<int> out(context(), {0});
  Launch<UseStack>({context(), dim3(1), dim3(1)}, 100, out.get());
  ExpectError(ErrorCode::kDeviceLost, "cuda.call",
              {"UseStack", "stack overflow"}, [&] { context().Wait(); });
}

__global__ void SetKernel(float* out, float value) {
  *out = value;
}

// A second stream reads data that the first one writes.
float ReadOnAnotherStream(CUDADeviceContext& context, bool wait) {
  CUDADeviceContext other(CUDAPlace{0});
  const DeviceArray<float> out(context, {1});
  context.Wait();
  Launch<SetKernel>({context, dim3(1), dim3(1)}, out.get(), 2.0F);
  cudaEvent_t event = nullptr;
  CheckCUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
  CheckCUDA(cudaEventRecord(event, context.stream()), "record");
  if (wait) CheckCUDA(cudaStreamWaitEvent(other.stream(), event, 0), "wait");
  CheckCUDA(cudaEventDestroy(event), "destroy");
  float value = 0;
  other.CopyToHost(&value, out.get(), sizeof(value));
  other.Wait();
  context.Wait();
  return value;
}

TEST_F(CUDAFaults, AMissingWaitReadsWhatWasThereBefore) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(ReadOnAnotherStream(context(), true), 2);
    EXPECT_EQ(ReadOnAnotherStream(context(), false), 1);
  }
}

// A stream reads data that another one overwrites afterwards.
float OverwriteOnAnotherStream(CUDADeviceContext& context, bool wait) {
  CUDADeviceContext other(CUDAPlace{0});
  const DeviceArray<float> in(context, {1});
  const DeviceArray<float> out(context, {0});
  context.Wait();
  context.CopyOnDevice(out.get(), in.get(), sizeof(float));
  cudaEvent_t event = nullptr;
  CheckCUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
  CheckCUDA(cudaEventRecord(event, context.stream()), "record");
  if (wait) CheckCUDA(cudaStreamWaitEvent(other.stream(), event, 0), "wait");
  CheckCUDA(cudaEventDestroy(event), "destroy");
  Launch<SetKernel>({other, dim3(1), dim3(1)}, in.get(), 2.0F);
  return out.Fetch().front();
}

TEST_F(CUDAFaults, AMissingWaitBeforeOverwritingShowsWhenOthersGoFirst) {
  cuda_emulation::GetOptions().streams = StreamMode::kOthers;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(OverwriteOnAnotherStream(context(), true), 1);
    EXPECT_EQ(OverwriteOnAnotherStream(context(), false), 2);
  }
}

TEST_F(CUDAFaults, WhatIsCopiedToTheHostIsNotThereBeforeTheWait) {
  const DeviceArray<float> values(context(), {1, 2, 3});
  Floats host = {1, 2, 3};
  context().CopyToHost(host.data(), values.get(), 12);
  EXPECT_NE(host, (Floats{1, 2, 3}));
  context().Wait();
  EXPECT_EQ(host, (Floats{1, 2, 3}));
}

TEST_F(CUDAFaultsDeathTest, TheHostMayNotTouchDeviceMemory) {
  const DeviceArray<float> values(context(), {1, 2, 3});
  context().Wait();
  volatile float* pointer = values.get();
  EXPECT_DEATH(static_cast<void>(pointer[1]),
               "the host reads from device memory.*byte 4 of allocation.*12");
  EXPECT_DEATH(pointer[1] = 1, "the host writes to device memory");
}

int AllocateWithFewAddresses() {
  const ::sluice::testing::ResourceLimit limit(
      RLIMIT_AS, ::sluice::testing::AddressSpace() + (rlim_t{1} << 33));
  Free(CUDAPlace{0}, Alloc(CUDAPlace{0}, 128));
  return 0;
}
const ::sluice::testing::ChildBody kAllocateWithFewAddresses(
    "allocate_with_few_addresses", &AllocateWithFewAddresses);

TEST_F(CUDAFaults, ALimitOfAddressesIsNamed) {
  if (!::sluice::testing::AddressSpaceCanBeLimited()) {
    GTEST_SKIP() << "the address sanitizer needs addresses of its own";
  }
  ::sluice::testing::ChildProcess child(
      {"--child=allocate_with_few_addresses"});
  EXPECT_EQ(child.Finish(), "exit 1");
  EXPECT_NE(child.output().find("1 TiB of addresses"), std::string::npos);
  EXPECT_NE(child.output().find("ulimit -v unlimited"), std::string::npos)
      << child.output();
}

}  // namespace
}  // namespace sluice
