#pragma once

#include <mutex>
#include <new>

#include "sluice/platform/cuda_emulation/fault.h"
#include "sluice/platform/cuda_emulation/stream.h"

// Shared by the sources of the emulated API.
namespace sluice::cuda_emulation {

// Keeps `error` for cudaGetLastError of this thread, and returns it.
cudaError_t Remember(cudaError_t error);

// Sets the text of cudaGetErrorString for an error of this thread that is no
// fault; formatted as by printf.
__attribute__((format(printf, 2, 3))) cudaError_t RememberWith(
    cudaError_t error, const char* format, ...);

// The body of every API call: holds the lock, returns the fault if there is
// one, and converts exceptions of `body` to an error.
template <typename Body>
cudaError_t Call(const Body& body) {
  std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
  if (CurrentFault() != cudaSuccess) return Remember(CurrentFault());
  try {
    return Remember(body());
  } catch (const FaultRaised&) {
    return Remember(CurrentFault());
  } catch (const std::bad_alloc&) {
    return Remember(cudaErrorMemoryAllocation);
  }
}

inline const std::shared_ptr<Stream>& Resolve(cudaStream_t stream) {
  return stream == nullptr ? AllStreams().Default() : stream->stream;
}

// Returns whether `address` is in pinned host memory.
bool IsPinned(const void* address);

Statistics& MutableStatistics();

}  // namespace sluice::cuda_emulation
