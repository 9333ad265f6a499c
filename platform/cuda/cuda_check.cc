#include "sluice/platform/cuda/cuda_check.h"

namespace sluice::platform {
namespace {

ErrorCode CodeOf(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
    case cudaErrorDevicesUnavailable:
      return ErrorCode::kResourceExhausted;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
      return ErrorCode::kNotFound;
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
      return ErrorCode::kInvalidArgument;
    case cudaErrorECCUncorrectable:
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
  return "";
}

}  // namespace

void RaiseCUDAError(cudaError_t error, std::string_view what) {
  Raise(CodeOf(error), "cuda.call", "{}: CUDA says \"{}\" ({}){}", what,
        cudaGetErrorString(error), static_cast<int>(error), Remedy(error));
}

void RaiseCublasError(cublasStatus_t status, std::string_view what) {
  // A fault of the device that came before is the better explanation.
  CheckCUDA(cudaGetLastError(), what);
  Raise(ErrorCode::kInternal, "cuda.cublas", "{}: cuBLAS says \"{}\" ({})",
        what, cublasGetStatusString(status), static_cast<int>(status));
}

void RaiseEigenError(const char* condition) {
  CheckCUDA(cudaGetLastError(), "Eigen");
  Raise(ErrorCode::kInternal, "cuda.eigen", "Eigen: expected {}", condition);
}

}  // namespace sluice::platform
