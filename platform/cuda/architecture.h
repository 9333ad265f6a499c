#pragma once

#include <cuda_runtime.h>

#include "sluice/platform/place.h"

namespace sluice::platform {

// Raises FailedPrecondition where this binary has no code for the GPU, which
// must be the calling thread's device: names the GPU, its architecture, those
// that the binary was built for, and the flag that helps. Without this check
// the first kernel fails, with a message of CUDA's that names none of them.
void CheckArchitecture(CUDAPlace place, const cudaDeviceProp& gpu);

// Raises that error; `found` is what CUDA said about a kernel of ours.
[[noreturn]] void RaiseWrongArchitecture(CUDAPlace place,
                                         const cudaDeviceProp& gpu,
                                         cudaError_t found);

}  // namespace sluice::platform
