#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "sluice/platform/cuda_emulation/api.h"
#include "sluice/platform/cuda_emulation/block.h"
#include "sluice/platform/cuda_emulation/device_memory.h"
#include "sluice/platform/cuda_emulation/grid.h"
#include "sluice/platform/cuda_emulation/memory_guard.h"
#include "sluice/platform/cuda_emulation/shared_memory.h"

namespace sluice::cuda_emulation {
namespace {

constexpr int kVersion = 13000;
constexpr unsigned kMaxGridX = 0x7FFFFFFF;
constexpr unsigned kMaxGridYZ = 65535;

thread_local cudaError_t last_error = cudaSuccess;
thread_local cudaError_t described_error = cudaSuccess;
thread_local char description[512];

std::map<const void*, size_t>& DynamicLimits() {
  static auto* limits = new std::map<const void*, size_t>;
  return *limits;
}

bool FitsGPU(const KernelCall& call) {
  const auto found = DynamicLimits().find(call.kernel);
  const size_t limit =
      found == DynamicLimits().end() ? kDefaultDynamicShared : found->second;
  const dim3& grid = call.grid;
  const dim3& block = call.block;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  return threads > 0 && threads <= kMaxThreads && block.z <= 64 && grid.x > 0 &&
         grid.y > 0 && grid.z > 0 && grid.x <= kMaxGridX &&
         grid.y <= kMaxGridYZ && grid.z <= kMaxGridYZ &&
         call.shared_bytes <= limit;
}

cudaError_t DeviceState() {
  return GetOptions().devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}

// CUDA's texts for the errors that the emulation returns.
constexpr std::pair<cudaError_t, const char*> kTexts[] = {
    {cudaSuccess, "no error"},
    {cudaErrorInvalidValue, "invalid argument"},
    {cudaErrorMemoryAllocation, "out of memory"},
    {cudaErrorInitializationError, "initialization error"},
    {cudaErrorInvalidConfiguration, "invalid configuration argument"},
    {cudaErrorInsufficientDriver,
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorDevicesUnavailable,
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorNoKernelImageForDevice,
     "no kernel image is available for execution on the device"},
    {cudaErrorNoDevice, "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "invalid resource handle"},
    {cudaErrorNotReady, "device not ready"},
    {cudaErrorIllegalAddress, "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "unspecified launch failure"}};

const char* TextOf(cudaError_t error) {
  for (const auto& [code, text] : kTexts) {
    if (code == error) return text;
  }
  return "unrecognized error code";
}

}  // namespace

cudaError_t Remember(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t RememberWith(cudaError_t error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(description, sizeof(description), format, arguments);
  va_end(arguments);
  described_error = error;
  return error;
}

Statistics& MutableStatistics() {
  static Statistics statistics{};
  return statistics;
}

Statistics GetStatistics() {
  std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
  return MutableStatistics();
}

cudaError_t EnqueueKernel(KernelCall call, cudaStream_t stream) {
  return Call([&] {
    if (!FitsGPU(call)) return cudaErrorInvalidConfiguration;
    InstallMemoryGuard();
    const char* name = call.name;
    Work work{name,
              [call = std::move(call)] {
                ++MutableStatistics().kernels;
                RunGrid(call);
              },
              true,
              {}};
    AllStreams().Enqueue(Resolve(stream), std::move(work));
    return cudaSuccess;
  });
}

cudaError_t EnqueueLibraryCall(const char* name,
                               cudaStream_t stream,
                               std::function<void()> work) {
  return EnqueueKernel({name, nullptr, dim3(), dim3(), 0, std::move(work)},
                       stream);
}

void ClearFault() {
  std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
  AllStreams().Clear();
  ForgetFault();
  last_error = cudaSuccess;
}

}  // namespace sluice::cuda_emulation

using namespace sluice::cuda_emulation;  // NOLINT(google-build-using-namespace)

cudaError_t cudaGetDeviceCount(int* count) {
  *count = GetOptions().devices;
  return Remember(DeviceState());
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return Remember(DeviceState());
}

cudaError_t cudaSetDevice(int device) {
  if (DeviceState() != cudaSuccess) return Remember(DeviceState());
  const bool known = device >= 0 && device < GetOptions().devices;
  return Remember(known ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const cudaError_t state = cudaSetDevice(device);
  if (state != cudaSuccess) return state;
  *properties = {"CUDA emulated on the CPU",
                 GetOptions().memory_bytes,
                 kStaticSharedBytes,
                 kMaxDynamicShared,
                 kWarpSize,
                 kMaxThreads,
                 {kMaxThreads, kMaxThreads, 64},
                 {kMaxGridX, kMaxGridYZ, kMaxGridYZ},
                 9,
                 0,
                 4,
                 2048,
                 1 << 20};
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return Call([] {
    AllStreams().WaitForAll();
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return Call([&] {
    *total = GetOptions().memory_bytes;
    *free = *total - std::min(*total, Memory().in_use());
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
  if (CurrentFault() != cudaSuccess) return CurrentFault();
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
  return CurrentFault() != cudaSuccess ? CurrentFault() : last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  return TextOf(error);
}

const char* cudaGetErrorString(cudaError_t error) {
  std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
  if (error != cudaSuccess && error == CurrentFault()) return FaultText();
  if (error != cudaSuccess && error == described_error) return description;
  return TextOf(error);
}

cudaError_t cudaFuncSetAttribute(const void* kernel,
                                 cudaFuncAttribute /*attribute*/,
                                 int value) {
  return Call([&] {
    if (value < 0 || static_cast<size_t>(value) > kMaxDynamicShared) {
      return cudaErrorInvalidValue;
    }
    DynamicLimits()[kernel] = static_cast<size_t>(value);
    return cudaSuccess;
  });
}
