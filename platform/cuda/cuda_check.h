#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "sluice/platform/error.h"

namespace sluice::platform {

// Raises what a failed call of CUDA means, with what CUDA says about it:
// ResourceExhausted when there is no memory, NotFound without a driver or a
// device, InvalidArgument for a launch that no GPU takes, DeviceLost for a
// fault that stays until the process ends, else Internal. `what` says what was
// tried: "cuda:0: copy to the device". Afterwards cudaGetLastError has
// forgotten it, unless it is such a fault.
[[noreturn]] void RaiseCUDAError(cudaError_t error, std::string_view what);
// The same for a kernel that could not be launched; InvalidArgument says how.
[[noreturn]] void RaiseLaunchError(cudaError_t error,
                                   const char* kernel,
                                   dim3 grid,
                                   dim3 block,
                                   size_t shared_bytes);
// ResourceExhausted when cuBLAS found no memory, DeviceLost where a fault of
// the device caused it, else Internal. Waits for the device.
[[noreturn]] void RaiseCublasError(cublasStatus_t status,
                                   std::string_view what);

// What eigen_gpu.cuh puts in the place of Eigen's assertions.
[[noreturn]] void RaiseEigenError(const char* condition);

inline void CheckCUDA(cudaError_t error, std::string_view what) {
  if (error != cudaSuccess) [[unlikely]] {
    RaiseCUDAError(error, what);
  }
}

inline void CheckCublas(cublasStatus_t status, std::string_view what) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]] {
    RaiseCublasError(status, what);
  }
}

}  // namespace sluice::platform
