#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/platform/cuda_emulation/device_code.h"
#include "sluice/platform/export.h"

// A stand-in for CUDA's own <cuda_runtime.h>: the part of it that Sluice uses,
// with the same names and values, running on the CPU. Put its folder first on
// the include path and compile .cu files as C++.
//
// Work runs when a call waits for it, and device memory faults when the host
// touches it. A mistake of a kernel is returned as an error that stays until
// ClearFault (control.h). Every function may be called from any thread; one
// piece of work runs at a time.

enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorECCUncorrectable = 214,
  cudaErrorNvlinkUncorrectable = 220,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorContextIsDestroyed = 709,
  cudaErrorAssert = 710,
  cudaErrorHardwareStackError = 714,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorInvalidAddressSpace = 717,
  cudaErrorInvalidPc = 718,
  cudaErrorLaunchFailure = 719,
};
using cudaError_t = cudaError;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

// In CUDA these are macros, too.
#define cudaStreamDefault 0x00U
#define cudaStreamNonBlocking 0x01U
#define cudaEventDefault 0x00U
#define cudaEventDisableTiming 0x02U
#define cudaHostAllocDefault 0x00U

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  size_t sharedMemPerBlockOptin;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int major;
  int minor;
  int multiProcessorCount;
  int maxThreadsPerMultiProcessor;
  int l2CacheSize;
};

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaHostFn_t = void (*)(void*);

extern "C" {

// Devices. SLUICE_CUDA_EMULATION_DEVICES says how many there are: 0 or 1.
SLUICE_API cudaError_t cudaGetDeviceCount(int* count);
SLUICE_API cudaError_t cudaGetDevice(int* device);
SLUICE_API cudaError_t cudaSetDevice(int device);
SLUICE_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties,
                                               int device);
SLUICE_API cudaError_t cudaDeviceSynchronize();
SLUICE_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
SLUICE_API cudaError_t cudaDriverGetVersion(int* version);
SLUICE_API cudaError_t cudaRuntimeGetVersion(int* version);

// Errors belong to a thread and are cleared when read, except for faults.
SLUICE_API cudaError_t cudaGetLastError();
SLUICE_API cudaError_t cudaPeekAtLastError();
SLUICE_API const char* cudaGetErrorName(cudaError_t error);
// Returns details where the emulation knows them, else CUDA's text.
SLUICE_API const char* cudaGetErrorString(cudaError_t error);

// Memory.
SLUICE_API cudaError_t cudaMalloc(void** pointer, size_t bytes);
SLUICE_API cudaError_t cudaFree(void* pointer);
SLUICE_API cudaError_t cudaHostAlloc(void** pointer,
                                     size_t bytes,
                                     unsigned flags);
SLUICE_API cudaError_t cudaFreeHost(void* pointer);
SLUICE_API cudaError_t cudaMemcpy(void* to,
                                  const void* from,
                                  size_t bytes,
                                  cudaMemcpyKind kind);
SLUICE_API cudaError_t cudaMemcpyAsync(void* to,
                                       const void* from,
                                       size_t bytes,
                                       cudaMemcpyKind kind,
                                       cudaStream_t stream = nullptr);
SLUICE_API cudaError_t cudaMemset(void* to, int value, size_t bytes);
SLUICE_API cudaError_t cudaMemsetAsync(void* to,
                                       int value,
                                       size_t bytes,
                                       cudaStream_t stream = nullptr);

// Streams and events.
SLUICE_API cudaError_t cudaStreamCreate(cudaStream_t* stream);
SLUICE_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream,
                                                 unsigned flags);
SLUICE_API cudaError_t cudaStreamDestroy(cudaStream_t stream);
SLUICE_API cudaError_t cudaStreamSynchronize(cudaStream_t stream);
SLUICE_API cudaError_t cudaStreamQuery(cudaStream_t stream);
SLUICE_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream,
                                           cudaEvent_t event,
                                           unsigned flags = 0);
SLUICE_API cudaError_t cudaEventCreate(cudaEvent_t* event);
SLUICE_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event,
                                                unsigned flags);
SLUICE_API cudaError_t cudaEventDestroy(cudaEvent_t event);
SLUICE_API cudaError_t cudaEventRecord(cudaEvent_t event,
                                       cudaStream_t stream = nullptr);
SLUICE_API cudaError_t cudaEventSynchronize(cudaEvent_t event);
SLUICE_API cudaError_t cudaEventQuery(cudaEvent_t event);
// The time between the moments at which the emulation reached the events.
SLUICE_API cudaError_t cudaEventElapsedTime(float* milliseconds,
                                            cudaEvent_t begin,
                                            cudaEvent_t end);
SLUICE_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream,
                                          cudaHostFn_t function,
                                          void* argument);

SLUICE_API cudaError_t cudaFuncSetAttribute(const void* kernel,
                                            cudaFuncAttribute attribute,
                                            int value);

}  // extern "C"

template <typename T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}

template <typename T>
cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
