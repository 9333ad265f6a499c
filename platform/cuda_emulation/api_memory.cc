#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "sluice/platform/cuda_emulation/api.h"
#include "sluice/platform/cuda_emulation/device_memory.h"
#include "sluice/platform/cuda_emulation/memory_guard.h"
#include "sluice/platform/cuda_emulation/pages.h"

namespace sluice::cuda_emulation {
namespace {

constexpr auto kOperatingSystem = static_cast<cudaError_t>(304);

// Pinned host memory: address to bytes.
std::map<const char*, size_t>& Pinned() {
  static auto* pinned = new std::map<const char*, size_t>;
  return *pinned;
}

// Bytes copied during the call, so that the caller may then change the source.
using Bytes = std::shared_ptr<char[]>;

Bytes Stage(const void* from, size_t bytes) {
  Bytes staged(new char[bytes]);
  std::memcpy(staged.get(), from, bytes);
  return staged;
}

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
  bool to_device;
  bool from_device;
  Bytes staged;

  const char* Name() const {
    if (to_device) {
      return from_device ? "copy on the device" : "copy to the device";
    }
    return from_device ? "copy from the device" : "copy on the host";
  }

  void Run() const {
    if (from_device) Memory().Open(from, bytes, false);
    if (to_device) Memory().Open(to, bytes, true);
    std::memmove(to, staged ? staged.get() : from, bytes);
    if (to_device && !from_device) ++MutableStatistics().copies_to_device;
    if (from_device && !to_device) ++MutableStatistics().copies_from_device;
  }
};

cudaError_t EnqueueCopy(Copy copy, cudaMemcpyKind kind, cudaStream_t stream) {
  const int actual = (copy.from_device ? 2 : 0) + (copy.to_device ? 1 : 0);
  if (kind != cudaMemcpyDefault && kind != actual) {
    return RememberWith(cudaErrorInvalidValue,
                        "cudaMemcpy: kind %d, but the addresses are of kind %d",
                        static_cast<int>(kind), actual);
  }
  if (copy.bytes == 0) return cudaSuccess;
  const bool from_pageable = !copy.from_device && !IsPinned(copy.from);
  const bool to_pageable = !copy.to_device && !IsPinned(copy.to);
  // In CUDA, a call has read pageable memory when it returns, and has completed
  // writes to it. Only copies of pinned memory wait for the stream.
  if (from_pageable) copy.staged = Stage(copy.from, copy.bytes);
  const char* name = copy.Name();
  const std::shared_ptr<Stream>& queue = Resolve(stream);
  AllStreams().Enqueue(queue, {name, [copy] { copy.Run(); }, true, {}});
  if (to_pageable) AllStreams().WaitFor(AllStreams().Last(queue));
  return cudaSuccess;
}

}  // namespace

bool IsPinned(const void* address) {
  const auto found = Pinned().upper_bound(static_cast<const char*>(address));
  if (found == Pinned().begin()) return false;
  const auto& [begin, bytes] = *std::prev(found);
  return address < begin + bytes;
}

void SetUsableBytes(void* pointer, size_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(RuntimeLock());
  Memory().SetUsable(pointer, bytes);
}

}  // namespace sluice::cuda_emulation

using namespace sluice::cuda_emulation;  // NOLINT(google-build-using-namespace)

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return Call([&] {
    *pointer = nullptr;
    if (GetOptions().devices == 0) return cudaErrorNoDevice;
    if (bytes == 0) return cudaSuccess;
    if (!Memory().Reserve()) {
      return RememberWith(kOperatingSystem,
                          "the emulation of CUDA sets 1 TiB of addresses "
                          "aside, which takes no memory, but this process may "
                          "not have so many: `ulimit -v unlimited` allows it");
    }
    InstallMemoryGuard();
    *pointer = Memory().Allocate(bytes, GetOptions().memory_bytes);
    return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}

cudaError_t cudaFree(void* pointer) {
  return Call([&] {
    if (pointer == nullptr) return cudaSuccess;
    AllStreams().WaitForAll();
    return Memory().Free(pointer) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned /*flags*/) {
  return Call([&] {
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    const size_t size = RoundUp(bytes, kPage);
    *pointer = std::aligned_alloc(kPage, size);
    if (*pointer == nullptr) return cudaErrorMemoryAllocation;
    std::memset(*pointer, kNaN, size);
    Pinned()[static_cast<const char*>(*pointer)] = bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return Call([&] {
    if (pointer == nullptr) return cudaSuccess;
    AllStreams().WaitForAll();
    if (Pinned().erase(static_cast<const char*>(pointer)) == 0) {
      return cudaErrorInvalidValue;
    }
    std::free(pointer);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to,
                            const void* from,
                            size_t bytes,
                            cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return Call([&] {
    const Copy copy{
        to,     from, bytes, Memory().Contains(to), Memory().Contains(from),
        nullptr};
    return EnqueueCopy(copy, kind, stream);
  });
}

cudaError_t cudaMemcpy(void* to,
                       const void* from,
                       size_t bytes,
                       cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}

cudaError_t cudaMemsetAsync(void* to,
                            int value,
                            size_t bytes,
                            cudaStream_t stream) {
  return Call([&] {
    if (bytes == 0) return cudaSuccess;
    const auto set = [to, value, bytes] {
      Memory().Open(to, bytes, true);
      std::memset(to, value, bytes);
    };
    AllStreams().Enqueue(Resolve(stream), {"memset", set, true, {}});
    return cudaSuccess;
  });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}
