#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "sluice/platform/error.h"

namespace sluice {

// Raises the Error for a failed CUDA call, with CUDA's own message:
// ResourceExhausted for no memory, NotFound without a driver or a device,
// InvalidArgument for a launch that no GPU accepts, DeviceLost for a fault that
// stays until the process ends, else Internal. `what` is the attempted work:
// "cuda:0: copy to the device". Clears cudaGetLastError, unless the error is
// such a fault.
[[noreturn]] void RaiseCUDAError(cudaError_t error, std::string_view what);
// Raises for a failed kernel launch; an InvalidArgument includes its shape.
[[noreturn]] void RaiseLaunchError(cudaError_t error,
                                   const char* kernel,
                                   dim3 grid,
                                   dim3 block,
                                   size_t shared_bytes);
// Raises ResourceExhausted when cuBLAS found no memory, DeviceLost for a fault
// of the device, else Internal. Waits for the device.
[[noreturn]] void RaiseCublasError(cublasStatus_t status,
                                   std::string_view what);

// Replaces Eigen's assertions (see eigen_gpu.cuh).
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

}  // namespace sluice
