// Guarantees for kernels.
#include <numeric>

#include "tests/platform/cuda/cuda_test.h"

#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

using ::sluice::testing::DeviceArray;
using ::sluice::testing::InEveryOrder;
using Ints = std::vector<int>;
class CUDAKernels : public ::sluice::testing::CUDATest {};

Ints Iota(size_t size) {
  Ints values(size);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

__global__ void StoreIndices(int* out) {
  const int64_t block =
      blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread =
      threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] += static_cast<int>(block * threads) + thread;
}

TEST_F(CUDAKernels, EveryThreadOfEveryBlockRunsOnce) {
  const dim3 shapes[][2] = {{dim3(1), dim3(1)},
                            {dim3(7), dim3(33)},
                            {dim3(2, 3, 4), dim3(5, 3, 2)},
                            {dim3(1, 2), dim3(1024)}};
  InEveryOrder([&] {
    for (const auto& [grid, block] : shapes) {
      const size_t size =
          size_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
      const DeviceArray<int> out(context(), Ints(size));
      Launch<StoreIndices>({context(), grid, block}, out.get());
      EXPECT_EQ(out.Fetch(), Iota(size));
    }
  });
}

// nvcc requires device lambdas outside of private functions, like tests.
void AddIndices(const CUDADeviceContext& context, int64_t size, int* to) {
  ForEach(context, size,
          [=] __device__(int64_t i) { to[i] += static_cast<int>(i); });
}

TEST_F(CUDAKernels, ForEachTakesAnySize) {
  for (const int64_t size : {0, 1, 255, 256, 257, 5'000'000}) {
    const DeviceArray<int> out(context(), Ints(size));
    AddIndices(context(), size, out.get());
    EXPECT_EQ(out.Fetch(), Iota(size));
  }
}

TEST_F(CUDAKernels, GridsAreBigEnoughAndNoBigger) {
  EXPECT_EQ(GridFor(0).x, 1u);
  EXPECT_EQ(GridFor(256).x, 1u);
  EXPECT_EQ(GridFor(257).x, 2u);
  EXPECT_EQ(GridFor(100, 10).x, 10u);
  EXPECT_EQ(GridFor(int64_t{1} << 62).x, 16384u);
}

// Sums of blocks in a fixed order, by shared memory of the launch.
__global__ void BlockSum(const int* in, int* out) {
  SLUICE_DYNAMIC_SHARED(int, buffer);
  buffer[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) {
      buffer[threadIdx.x] += buffer[threadIdx.x + step];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = buffer[0];
}

TEST_F(CUDAKernels, BarriersAndDynamicSharedMemory) {
  InEveryOrder([&] {
    const DeviceArray<int> in(context(), Iota(4 * 512));
    const DeviceArray<int> out(context(), Ints(4));
    Launch<BlockSum>({context(), dim3(4), dim3(512), 512 * sizeof(int)},
                     in.get(), out.get());
    EXPECT_EQ(out.Fetch(), (Ints{130816, 392960, 655104, 917248}));
  });
}

__global__ void WarpFunctions(int* out) {
  const unsigned lane = threadIdx.x;
  int sum = static_cast<int>(lane);
  for (int step = 16; step > 0; step /= 2) {
    sum += __shfl_xor_sync(0xFFFFFFFF, sum, step);
  }
  out[0 * 32 + lane] = sum;
  out[1 * 32 + lane] = __shfl_sync(0xFFFFFFFF, static_cast<int>(lane), 5);
  out[2 * 32 + lane] = __shfl_up_sync(0xFFFFFFFF, static_cast<int>(lane), 1);
  out[3 * 32 + lane] =
      __shfl_down_sync(0xFFFFFFFF, static_cast<int>(lane), 1, 8);
  const unsigned votes = __ballot_sync(0xFFFFFFFF, lane % 2);
  out[4 * 32 + lane] = __popc(votes);
  out[5 * 32 + lane] = __any_sync(0xFFFFFFFF, lane == 3);
  out[6 * 32 + lane] = __all_sync(0xFFFFFFFF, lane == 3);
  if (lane < 4) out[7 * 32 + lane] = __shfl_sync(0xF, 10 * sum, 0);
}

TEST_F(CUDAKernels, WarpFunctionsExchangeValues) {
  InEveryOrder([&] {
    const DeviceArray<int> out(context(), Ints(8 * 32));
    Launch<WarpFunctions>({context(), dim3(1), dim3(32)}, out.get());
    const Ints got = out.Fetch();
    for (int lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(got[lane], 496);
      EXPECT_EQ(got[32 + lane], 5);
      EXPECT_EQ(got[64 + lane], lane == 0 ? 0 : lane - 1);
      EXPECT_EQ(got[96 + lane], lane % 8 == 7 ? lane : lane + 1);
      EXPECT_EQ(got[128 + lane], 16);
      EXPECT_EQ(got[160 + lane], 1);
      EXPECT_EQ(got[192 + lane], 0);
      EXPECT_EQ(got[224 + lane], lane < 4 ? 4960 : 0);
    }
  });
}

__global__ void Atomics(int* out) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&out[0], 1);
  atomicMax(&out[1], thread);
  atomicMin(&out[2], -thread);
  if (atomicCAS(&out[3], 0, 1) == 0) atomicExch(&out[4], 7);
}

TEST_F(CUDAKernels, AtomicsOfAllBlocksAddUp) {
  const DeviceArray<int> out(context(), Ints(5));
  Launch<Atomics>({context(), dim3(10), dim3(100)}, out.get());
  EXPECT_EQ(out.Fetch(), (Ints{1000, 999, -999, 1, 7}));
}

TEST(CUDAKernelNames, AreAsInTheSource) {
  EXPECT_STREQ(internal::KernelName<BlockSum>(), "BlockSum");
  EXPECT_EQ(internal::KernelNameIn(
                "const char* f() [with auto Kernel = sluice::operators::"
                "{anonymous}::Add<float>]"),
            "Add<float>");
  EXPECT_EQ(internal::KernelNameIn(
                "f() [with auto Kernel = sluice::operators::_GLOBAL__N__0a41_6_"
                "add_cu_b7_22::Add<sluice::operators::_GLOBAL__N__0a41_6_add_cu"
                "_b7_22::Twice>]"),
            "Add<Twice>");
  EXPECT_EQ(
      internal::KernelNameIn("f() [Kernel = &sluice::operators::(anonymous "
                             "namespace)::Add<float>]"),
      "Add<float>");
}

}  // namespace
}  // namespace sluice
