#include "sluice/platform/cuda/cuda_check.h"

namespace sluice::platform {
namespace {

ErrorCode CodeOf(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
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

}  // namespace

void RaiseCUDAError(cudaError_t error, std::string_view what) {
  const ErrorCode code = CodeOf(error);
  const char* remedy = code == ErrorCode::kDeviceLost
                           ? "; the device is lost until the process ends"
                           : "";
  Raise(code, "cuda.call", "{}: CUDA says \"{}\" ({}){}", what,
        cudaGetErrorString(error), static_cast<int>(error), remedy);
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
