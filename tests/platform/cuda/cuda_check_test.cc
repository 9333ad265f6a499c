// The conversion of CUDA's errors, and their advice.
#include "sluice/platform/cuda/cuda_check.h"

#include <cstring>

#include "tests/platform/cuda/cuda_test.h"
#include "tests/testing/expect_error.h"
#include <kernel_launch.h>

#include "sluice/platform/cuda/architecture.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
class CUDAErrors : public ::sluice::testing::CUDATest {};

TEST_F(CUDAErrors, HaveACodeAndARemedy) {
  struct Case {
    cudaError_t error;
    ErrorCode code;
    std::string_view remedy;
  };
  const Case cases[] = {
      {cudaErrorMemoryAllocation, ErrorCode::kResourceExhausted, "(2)"},
      {cudaErrorDevicesUnavailable, ErrorCode::kResourceExhausted,
       "(46); another process uses the GPU, and its compute mode lets only one "
       "in: nvidia-smi shows both"},
      {static_cast<cudaError_t>(304), ErrorCode::kResourceExhausted, "(304)"},
      {cudaErrorInsufficientDriver, ErrorCode::kNotFound,
       "(35); no NVIDIA driver was found, or one older than this CUDA"},
      {cudaErrorNoDevice, ErrorCode::kNotFound, "(100)"},
      {cudaErrorInvalidDevice, ErrorCode::kNotFound, "(101)"},
      {cudaErrorInitializationError, ErrorCode::kInternal,
       "(3); CUDA does not work in a process that was forked"},
      {cudaErrorInvalidConfiguration, ErrorCode::kInvalidArgument, "(9)"},
      {cudaErrorLaunchOutOfResources, ErrorCode::kInvalidArgument, "(701)"},
      {cudaErrorIllegalAddress, ErrorCode::kDeviceLost,
       "(700); the device is lost until the process ends"},
      {cudaErrorLaunchTimeout, ErrorCode::kDeviceLost, "(702); the device is"},
      {cudaErrorECCUncorrectable, ErrorCode::kDeviceLost,
       "(214); the device is lost until the process ends"},
      {static_cast<cudaError_t>(226), ErrorCode::kDeviceLost, "(226); the"},
      {static_cast<cudaError_t>(721), ErrorCode::kDeviceLost, "(721); the"},
      {cudaErrorInvalidValue, ErrorCode::kInternal, "(1)"},
  };
  for (const Case& each : cases) {
    const std::string said = cudaGetErrorString(each.error);
    ExpectError(each.code, "cuda.call",
                {"cuda:0: a test: CUDA says \"" + said + "\"", each.remedy},
                [&] { RaiseCUDAError(each.error, "cuda:0: a test"); });
  }
}

TEST_F(CUDAErrors, AreForgottenByCUDAOnceTheyAreRaised) {
  ASSERT_EQ(cudaSetDevice(1 << 20), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_THROW(CheckCUDA(cudaErrorInvalidDevice, "a test"), Error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_F(CUDAErrors, OfCublasSayWhatItSays) {
  ExpectError(ErrorCode::kInternal, "cuda.cublas",
              {"gemm: cuBLAS says \"", "\" (7)"},
              [] { CheckCublas(CUBLAS_STATUS_INVALID_VALUE, "gemm"); });
  ExpectError(ErrorCode::kResourceExhausted, "cuda.cublas",
              {"a handle", "\" (3)"},
              [] { CheckCublas(CUBLAS_STATUS_ALLOC_FAILED, "a handle"); });
}

TEST_F(CUDAErrors, OfEigenSayWhatWasExpected) {
  ExpectError(ErrorCode::kInternal, "cuda.eigen", {"expected size > 0"},
              [] { RaiseEigenError("size > 0"); });
}

TEST_F(CUDAErrors, OfAnotherArchitectureNameBothAndTheFlag) {
  cudaDeviceProp gpu{};
  std::strcpy(gpu.name, "Tesla V100-SXM2-16GB");  // NOLINT: it has 256 bytes
  gpu.major = 7;
  gpu.minor = 0;
  ExpectError(
      ErrorCode::kFailedPrecondition, "cuda.architecture",
      {"cuda:0 is Tesla V100-SXM2-16GB (sm_70)",
       "libsluice_cuda.so has kernels for ", kCUDAIsEmulated ? "" : "sm_",
       "CUDAARCHS=70", "./dev gpu_kit --arch 70"},
      [&] {
        RaiseWrongArchitecture(CUDAPlace{0}, gpu,
                               cudaErrorNoKernelImageForDevice);
      });
}

TEST_F(CUDAErrors, DoNotComeFromTheArchitectureThatWasBuiltFor) {
  cudaDeviceProp gpu{};
  ASSERT_EQ(cudaGetDeviceProperties(&gpu, 0), cudaSuccess);
  CheckArchitecture(kPlace, gpu);
}

}  // namespace
}  // namespace sluice
