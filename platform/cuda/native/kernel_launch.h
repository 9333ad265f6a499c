#pragma once

#include <cstddef>
#include <type_traits>

#include <cuda_runtime.h>

// Launches kernels and declares their shared memory, on a GPU. The build puts
// either this folder or that of the emulation, which defines the same names, on
// the include path.

namespace sluice {

inline constexpr bool kCUDAIsEmulated = false;

template <auto Kernel, typename... Params>
cudaError_t EnqueueKernel(const char* /*name*/,
                          void (*kernel)(Params...),
                          dim3 grid,
                          dim3 block,
                          size_t shared_bytes,
                          cudaStream_t stream,
                          std::type_identity_t<Params>... arguments) {
  // This is what <<<>>> compiles to; unlike it, it compiles without nvcc.
  void* addresses[] = {&arguments..., nullptr};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block,
                          addresses, shared_bytes, stream);
}

// Succeeds if the calling thread's device can run `kernel`, i.e. if this binary
// has code for its architecture.
inline cudaError_t FindCode(const void* kernel) {
  cudaFuncAttributes unused;
  return cudaFuncGetAttributes(&unused, kernel);
}

inline void SetUsableBytes(void* /*pointer*/, size_t /*bytes*/) {}

}  // namespace sluice

// SLUICE_SHARED_ARRAY(float, tile, [32][33]): an array that the threads of a
// block share, with elements of any type that memcpy may copy.
#define SLUICE_SHARED_ARRAY(Type, name, dims) __shared__ Type name dims

// SLUICE_DYNAMIC_SHARED(float, buffer): a pointer to the `shared_bytes` of the
// launch. All types share one symbol, or templates would declare it twice.
#define SLUICE_DYNAMIC_SHARED(Type, name)                                \
  extern __shared__ __align__(16) unsigned char sluice_dynamic_shared[]; \
  Type* const name = reinterpret_cast<Type*>(sluice_dynamic_shared)
