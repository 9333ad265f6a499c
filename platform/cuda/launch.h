#pragma once

// This header also provides SLUICE_SHARED_ARRAY and SLUICE_DYNAMIC_SHARED.
#include <algorithm>
#include <cstdint>
#include <string>

#include <kernel_launch.h>

#include "sluice/platform/cuda/cuda_check.h"
#include "sluice/platform/cuda/kernel_name.h"
#include "sluice/platform/cuda_device_context.h"

namespace sluice {

// The grid, block and stream of a kernel launch.
struct LaunchConfig {
  const CUDADeviceContext& context;
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
};

namespace internal {

template <auto Kernel>
const char* KernelName() {
  static const auto* name = new std::string(KernelNameIn(__PRETTY_FUNCTION__));
  return name->c_str();
}

}  // namespace internal

// Enqueues a kernel:
//   Launch<AddKernel<T>>({context, grid, block}, x, y, n);
// Arguments convert to the kernel's parameters. Raises InvalidArgument, with
// the kernel's name, for a launch that no GPU accepts, and DeviceLost.
template <auto Kernel, typename... Arguments>
void Launch(const LaunchConfig& config, const Arguments&... arguments) {
  const char* name = internal::KernelName<Kernel>();
  const cudaError_t error = EnqueueKernel<Kernel>(
      name, Kernel, config.grid, config.block, config.shared_bytes,
      config.context.stream(), arguments...);
  if (error != cudaSuccess) [[unlikely]] {
    RaiseLaunchError(error, name, config.grid, config.block,
                     config.shared_bytes);
  }
}

inline constexpr int kThreadsPerBlock = 256;

// Returns the grid for `n` pieces of work, `block` in each block: at least one
// block, and no more than keep a GPU busy. Kernels loop with ThreadIndex and
// ThreadCount until all is done, so any 64-bit `n` is valid.
inline dim3 GridFor(int64_t n, int block = kThreadsPerBlock) {
  constexpr int64_t kMostBlocks = 16384;
  const int64_t blocks = n / block + (n % block != 0 ? 1 : 0);
  return dim3(
      static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, kMostBlocks)));
}

// For the loop of a kernel on a one-dimensional grid:
//   for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) ...
__device__ inline int64_t ThreadIndex() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t ThreadCount() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

template <typename Body>
__global__ void ForEachKernel(int64_t n, const __grid_constant__ Body body) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    body(i);
  }
}

// Calls body(i) for each i of [0, n) on the device; nothing is launched for
// n = 0. `body` is a lambda that captures numbers, pointers to device memory
// and small structs by value:
//   ForEach(context, n, [=] __device__(int64_t i) { y[i] += x[i]; });
template <typename Body>
void ForEach(const CUDADeviceContext& context, int64_t n, const Body& body) {
  if (n <= 0) return;
  Launch<ForEachKernel<Body>>({context, GridFor(n), dim3(kThreadsPerBlock)}, n,
                              body);
}

// Sets `bytes` of device memory to 0, in stream order.
inline void FillZero(const CUDADeviceContext& context, void* to, size_t bytes) {
  if (bytes == 0) return;
  CheckCUDA(cudaMemsetAsync(to, 0, bytes, context.stream()), "memset");
}

}  // namespace sluice
