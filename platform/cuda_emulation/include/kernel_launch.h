#pragma once

#include <cuda_runtime.h>

#include "sluice/platform/cuda_emulation/control.h"

// Launches kernels and declares their shared memory, on the emulation. The
// build puts either this folder or that of CUDA's version, which defines the
// same names, on the include path.

namespace sluice {

inline constexpr bool kCUDAIsEmulated = true;

template <auto Kernel, typename... Params>
cudaError_t EnqueueKernel(const char* name,
                          void (*kernel)(Params...),
                          dim3 grid,
                          dim3 block,
                          size_t shared_bytes,
                          cudaStream_t stream,
                          std::type_identity_t<Params>... arguments) {
  return cuda_emulation::EnqueueKernel(
      {name, reinterpret_cast<const void*>(kernel), grid, block, shared_bytes,
       [=] { Kernel(arguments...); }},
      stream);
}

// Always succeeds: host code runs on every architecture.
inline cudaError_t FindCode(const void* /*kernel*/) {
  return cudaSuccess;
}

inline void SetUsableBytes(void* pointer, size_t bytes) {
  cuda_emulation::SetUsableBytes(pointer, bytes);
}

}  // namespace sluice

// SLUICE_SHARED_ARRAY(float, tile, [32][33]): an array that the threads of a
// block share, with elements of any type that memcpy may copy.
#define SLUICE_SHARED_ARRAY(Type, name, dims)                            \
  using name##Shared = Type dims;                                        \
  static const char name##_key = 0;                                      \
  name##Shared& name =                                                   \
      *static_cast<name##Shared*>(::sluice::cuda_emulation::SharedArray( \
          &name##_key, #name, sizeof(name##Shared), alignof(name##Shared)))

// SLUICE_DYNAMIC_SHARED(float, buffer): a pointer to the `shared_bytes` of the
// launch.
#define SLUICE_DYNAMIC_SHARED(Type, name) \
  Type* const name =                      \
      static_cast<Type*>(::sluice::cuda_emulation::DynamicShared())
