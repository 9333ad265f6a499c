#include <kernel_launch.h>

#include "sluice/platform/cuda/architecture.h"
#include "sluice/platform/cuda/cuda_check.h"

namespace sluice {
namespace {

// All kernels of a binary are compiled for the same architectures.
__global__ void ArchitectureProbe() {}

}  // namespace

void RaiseWrongArchitecture(CUDAPlace place,
                            const cudaDeviceProp& gpu,
                            cudaError_t found) {
  Raise(ErrorCode::kFailedPrecondition, "cuda.architecture",
        "{} is {} (sm_{}{}), and libsluice_cuda.so has kernels for {} only "
        "(CUDA says \"{}\"): build it with the environment variable "
        "CUDAARCHS={}{}, or the GPU kit with ./dev gpu_kit --arch {}{}",
        PlaceKey(place), gpu.name, gpu.major, gpu.minor,
        SLUICE_CUDA_ARCHITECTURES, cudaGetErrorString(found), gpu.major,
        gpu.minor, gpu.major, gpu.minor);
}

void CheckArchitecture(CUDAPlace place, const cudaDeviceProp& gpu) {
  const cudaError_t found =
      FindCode(reinterpret_cast<const void*>(&ArchitectureProbe));
  if (found == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  if (found == cudaErrorNoKernelImageForDevice ||
      found == cudaErrorInvalidDeviceFunction) {
    RaiseWrongArchitecture(place, gpu, found);
  }
  RaiseCUDAError(found, Format("{}: looking for a kernel", PlaceKey(place)));
}

}  // namespace sluice
