#include "sluice/platform/cuda/cuda_check.h"

namespace sluice {
namespace {

// The headers of CUDA 12, or of the emulation, do not have these.
constexpr int kContained = 226;         // an uncorrectable memory error
constexpr int kOperatingSystem = 304;   // the system refused a request of CUDA
constexpr int kTensorMemoryLeak = 721;  // caused by a kernel

ErrorCode CodeOf(cudaError_t error) {
  switch (static_cast<int>(error)) {
    case cudaErrorMemoryAllocation:
    case cudaErrorDevicesUnavailable:
    case kOperatingSystem:
      return ErrorCode::kResourceExhausted;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
      return ErrorCode::kNotFound;
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
      return ErrorCode::kInvalidArgument;
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case kContained:
    case kTensorMemoryLeak:
    case cudaErrorContextIsDestroyed:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return ErrorCode::kDeviceLost;
    default:
      return ErrorCode::kInternal;
  }
}

const char* Remedy(cudaError_t error) {
  if (CodeOf(error) == ErrorCode::kDeviceLost) {
    return "; the device is lost until the process ends";
  }
  if (error == cudaErrorDevicesUnavailable) {
    return "; another process uses the GPU, and its compute mode lets only one "
           "in: nvidia-smi shows both";
  }
  if (error == cudaErrorInsufficientDriver) {
    return "; no NVIDIA driver was found, or one older than this CUDA";
  }
  if (error == cudaErrorInitializationError) {
    return "; CUDA does not work in a process that was forked after its first "
           "use: start processes with spawn";
  }
  return "";
}

// Returns the fault that may have made a library call fail. Libraries do not
// report CUDA errors, but any later CUDA call returns a fault of the device.
cudaError_t FaultOfDevice() {
  const cudaError_t kept = cudaGetLastError();
  const cudaError_t fault = cudaDeviceSynchronize();
  return fault != cudaSuccess ? fault : kept;
}

}  // namespace

void RaiseCUDAError(cudaError_t error, std::string_view what) {
  // CUDA keeps the error until it is read; Eigen would report it as its own.
  static_cast<void>(cudaGetLastError());
  Raise(CodeOf(error), "cuda.call", "{}: CUDA says \"{}\" ({}){}", what,
        cudaGetErrorString(error), static_cast<int>(error), Remedy(error));
}

void RaiseLaunchError(cudaError_t error,
                      const char* kernel,
                      dim3 grid,
                      dim3 block,
                      size_t shared_bytes) {
  // CUDA also returns cudaErrorInvalidValue for too much shared memory.
  if (error == cudaErrorInvalidValue) error = cudaErrorInvalidConfiguration;
  if (CodeOf(error) != ErrorCode::kInvalidArgument) {
    RaiseCUDAError(error, kernel);
  }
  RaiseCUDAError(
      error, Format("{}: no GPU takes a grid of ({}, {}, {}) blocks of ({}, "
                    "{}, {}) threads with {} bytes of dynamic shared memory",
                    kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                    shared_bytes));
}

void RaiseCublasError(cublasStatus_t status, std::string_view what) {
  CheckCUDA(FaultOfDevice(), what);
  const bool full = status == CUBLAS_STATUS_ALLOC_FAILED;
  Raise(full ? ErrorCode::kResourceExhausted : ErrorCode::kInternal,
        "cuda.cublas", "{}: cuBLAS says \"{}\" ({})", what,
        cublasGetStatusString(status), static_cast<int>(status));
}

void RaiseEigenError(const char* condition) {
  CheckCUDA(FaultOfDevice(), "Eigen");
  Raise(ErrorCode::kInternal, "cuda.eigen", "Eigen: expected {}", condition);
}

}  // namespace sluice
