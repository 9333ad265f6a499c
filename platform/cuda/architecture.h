#pragma once

#include <cuda_runtime.h>

#include "sluice/platform/place.h"

namespace sluice {

// Raises FailedPrecondition if this binary has no code for the GPU, which must
// be the calling thread's device. The error names the GPU, its architecture,
// those of the binary, and the build flag to set. Without this check the first
// kernel fails, with a message of CUDA that names none of them.
void CheckArchitecture(CUDAPlace place, const cudaDeviceProp& gpu);

// Raises "cuda.architecture"; `found` is CUDA's error for a kernel of Sluice.
[[noreturn]] void RaiseWrongArchitecture(CUDAPlace place,
                                         const cudaDeviceProp& gpu,
                                         cudaError_t found);

}  // namespace sluice
