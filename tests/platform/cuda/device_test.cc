// CUDA devices through Sluice's device interface.
#include "sluice/platform/device.h"

#include <atomic>
#include <cstdio>
#include <thread>

#include "tests/platform/cuda/cuda_test.h"
#include "tests/testing/child_process.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>

#include "sluice/memory/allocator.h"
#include "sluice/memory/copy.h"
#include "sluice/memory/testing.h"
#include "sluice/platform/cuda/cuda_check.h"

namespace sluice {
namespace {

using ::sluice::testing::ChildBody;
using ::sluice::testing::ChildProcess;
using ::sluice::testing::DeviceArray;
using ::sluice::testing::ExpectError;
class CUDADevices : public ::sluice::testing::CUDATest {};
constexpr const char* kNoEmulatedDevice = "SLUICE_CUDA_EMULATION_DEVICES=0";

std::vector<double> Numbers(size_t size) {
  std::vector<double> numbers(size);
  for (size_t i = 0; i < size; ++i) {
    numbers[i] = static_cast<double>(i % 1000) / 8;
  }
  return numbers;
}

TEST_F(CUDADevices, AnIndexOutOfRangeIsRefusedWithTheCount) {
  const int count = DeviceManager::Instance().Count(PlaceKind::kCUDA);
  const std::string number = std::to_string(count);
  ExpectError(ErrorCode::kNotFound, "device.index",
              {"cuda:" + number, "an index below " + number,
               "the number of cuda devices"},
              [&] { CUDADeviceContext context(CUDAPlace{count}); });
}

TEST_F(CUDADevices, CopiesOfAnySizeComeBack) {
  for (const size_t size : {0, 1, 7, 1000, 200000, 3000000}) {
    const auto numbers = Numbers(size);
    const DeviceArray<double> first(context(), numbers);
    const DeviceArray<double> second(context(), std::vector<double>(size));
    context().CopyOnDevice(second.get(), first.get(), size * sizeof(double));
    EXPECT_EQ(second.Fetch(), numbers);
  }
}

TEST_F(CUDADevices, WhatWasCopiedFromTheHostMayChangeAtOnce) {
  std::vector<double> numbers = {1, 2, 3};
  const DeviceArray<double> device(context(), numbers);
  numbers = {4, 5, 6};
  EXPECT_EQ(device.Fetch(), (std::vector<double>{1, 2, 3}));
}

TEST_F(CUDADevices, ACopyBackFromWhereAnotherOneGoesIsInOrder) {
  const DeviceArray<double> from(context(), {1, 2, 3});
  const DeviceArray<double> to(context(), {0, 0, 0});
  std::vector<double> host(3);
  context().CopyToHost(host.data(), from.get(), 24);
  context().CopyFromHost(to.get(), host.data(), 24);
  EXPECT_EQ(to.Fetch(), (std::vector<double>{1, 2, 3}));
}

TEST_F(CUDADevices, RoomsCopyWithoutAContext) {
  const auto numbers = Numbers(1000);
  const auto device = AllocUnique(kPlace, 8000);
  std::vector<double> back(1000);
  Copy(kPlace, device.get(), CPUPlace{}, numbers.data(), 8000);
  Copy(CPUPlace{}, back.data(), kPlace, device.get(), 8000);
  EXPECT_EQ(back, numbers);
}

TEST_F(CUDADevices, ManyThreadsWorkAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      CUDADeviceContext context(kPlace);
      const std::vector<double> numbers(100 + i, i);
      for (int repeat = 0; repeat < 20; ++repeat) {
        const DeviceArray<double> device(context, numbers);
        if (device.Fetch() == numbers) ++right;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 160);
}

TEST_F(CUDADevices, RunningOutOfMemoryGivesTheFigures) {
  SetFillFreshMemory(false);
  ReleaseCache(kPlace);
  const MemoryStats before = Stats(kPlace);
  // Cached memory is freed before an allocation fails.
  Free(kPlace, Alloc(kPlace, size_t{64} << 20));
  ExpectError(ErrorCode::kResourceExhausted, "memory.exhausted",
              {"cuda:0", "in use", "reserved", "limit"},
              [&] { Alloc(kPlace, before.limit - before.reserved + 65536); });
  EXPECT_EQ(Stats(kPlace).reserved, before.reserved);
}

TEST_F(CUDADevices, TheDeviceMayHaveLessThanTheLimit) {
  SetFillFreshMemory(false);
  const auto some = AllocUnique(kPlace, size_t{1} << 20);
  const size_t limit = Stats(kPlace).limit;
  size_t free = 0, total = 0;
  CheckCUDA(cudaMemGetInfo(&free, &total), "memory");
  SetLimit(kPlace, 4 * total);
  // More than the total, and more than is free.
  for (const size_t bytes : {total + (size_t{1} << 30), total}) {
    ExpectError(ErrorCode::kResourceExhausted, "memory.exhausted", {"cuda:0"},
                [&] { Alloc(kPlace, bytes); });
    // No pending error that Eigen or cuBLAS would report as theirs.
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
  SetLimit(kPlace, limit);
  Free(kPlace, Alloc(kPlace, size_t{8} << 20));
}

TEST_F(CUDADevices, ManyCopiesBeforeAWaitStayInOrder) {
  constexpr size_t kBytes = size_t{8} << 20;
  const auto device = AllocUnique(kPlace, 2 * kBytes);
  std::vector<char> numbers(kBytes);
  std::vector<char> back(kBytes);
  for (int i = 0; i < 50; ++i) {  // 400 MiB
    numbers.assign(kBytes, static_cast<char>(i));
    context().CopyFromHost(device.get(), numbers.data(), kBytes);
  }
  context().CopyToHost(back.data(), device.get(), kBytes);
  context().Wait();
  EXPECT_EQ(back, numbers);
}

TEST_F(CUDADevices, CublasMultipliesOnTheContextsStream) {
  // Column order: [1 3; 2 4] [5 7; 6 8].
  const DeviceArray<double> a(context(), {1, 2, 3, 4});
  const DeviceArray<double> b(context(), {5, 6, 7, 8});
  const DeviceArray<double> c(context(), {1, 1, 1, 1});
  const double alpha = 2;
  const double beta = 1;
  const auto multiply = [&](cublasOperation_t of_a, cublasOperation_t of_b) {
    CheckCublas(cublasDgemm(context().cublas(), of_a, of_b, 2, 2, 2, &alpha,
                            a.get(), 2, b.get(), 2, &beta, c.get(), 2),
                "gemm");
    return c.Fetch();
  };
  EXPECT_EQ(multiply(CUBLAS_OP_N, CUBLAS_OP_N),
            (std::vector<double>{47, 69, 63, 93}));
  EXPECT_EQ(multiply(CUBLAS_OP_T, CUBLAS_OP_T),
            (std::vector<double>{47 + 38, 69 + 86, 63 + 44, 93 + 100}));
  ExpectError(
      ErrorCode::kInternal, "cuda.cublas", {"gemm", "cuBLAS says"}, [&] {
        CheckCublas(
            cublasDgemm(context().cublas(), CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2,
                        &alpha, a.get(), 1, b.get(), 2, &beta, c.get(), 2),
            "gemm");
      });
}

int LookForADevice() {
  try {
    CUDADeviceContext context(CUDAPlace{0});
  } catch (const Error& error) {
    std::printf("%s: %s\n", std::string(ToString(error.code())).c_str(),
                error.what());
  }
  return 0;
}
const ChildBody kLookForADevice("look_for_a_device", &LookForADevice);

TEST_F(CUDADevices, AMachineWithoutAGPUSaysSo) {
  ChildProcess child({"--child=look_for_a_device"},
                     {"CUDA_VISIBLE_DEVICES=", kNoEmulatedDevice});
  EXPECT_EQ(child.Finish(), "exit 0");
  EXPECT_THAT(child.output(), ::testing::HasSubstr("NotFound: "));
  EXPECT_THAT(child.output(),
              ::testing::HasSubstr("no CUDA-capable device is detected"));
}

}  // namespace
}  // namespace sluice
