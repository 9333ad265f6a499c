// Reports about kernels that only the emulation makes.
#include "tests/platform/cuda/emulated_cuda_test.h"

#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

using ::sluice::testing::DeviceArray;
class CUDAKernelsEmulated : public ::sluice::testing::EmulatedCUDATest {};

TEST_F(CUDAKernelsEmulated, ForEachLaunchesOnceAndNothingForNone) {
  for (const int64_t size : {0, 1, 255, 256, 257, 5'000'000}) {
    const DeviceArray<int> out(context(), std::vector<int>(size));
    int* to = out.get();
    const auto before = cuda_emulation::GetStatistics().kernels;
    ForEach(context(), size, [=] __device__(int64_t i) { to[i] = 1; });
    context().Wait();
    EXPECT_EQ(cuda_emulation::GetStatistics().kernels - before,
              size == 0 ? 0u : 1u);
  }
}

__global__ void FirstOfShared(float* out) {
  SLUICE_SHARED_ARRAY(float, never_written, [4]);
  out[blockIdx.x] = never_written[3];
  never_written[3] = 1;
}

TEST_F(CUDAKernelsEmulated, SharedAndFreshMemoryAreNaN) {
  const DeviceArray<float> out(context(), std::vector<float>(2));
  Launch<FirstOfShared>({context(), dim3(2), dim3(1)}, out.get());
  for (const float value : out.Fetch()) {
    EXPECT_NE(value, value);
  }
  float* fresh = nullptr;
  float first = 0;
  CheckCUDA(cudaMalloc(&fresh, 4), "malloc");
  CheckCUDA(cudaMemcpy(&first, fresh, 4, cudaMemcpyDeviceToHost), "copy");
  CheckCUDA(cudaFree(fresh), "free");
  EXPECT_NE(first, first);
}

}  // namespace
}  // namespace sluice
