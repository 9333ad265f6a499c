#include "sluice/platform/cuda_emulation/device_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include <sys/mman.h>

#include "sluice/platform/cuda_emulation/fault.h"
#include "sluice/platform/cuda_emulation/pages.h"

namespace sluice::cuda_emulation {
namespace {

constexpr size_t kAlignment = 256;  // same as cudaMalloc
constexpr size_t kRegionBytes = size_t{1} << 40;
constexpr int kReadWrite = PROT_READ | PROT_WRITE;
// Limits the NaN fill of fresh memory and the size of guarded red zones.
constexpr size_t kMostFilled = size_t{64} << 20;
constexpr size_t kGuardedBefore = 64;
constexpr size_t kMostGuarded = size_t{64} << 10;

char* StartOfRedZone(const Allocation& allocation) {
  return std::max(allocation.first_page, allocation.data - kGuardedBefore);
}

char* EndOfRedZone(const Allocation& allocation) {
  char* begin = allocation.data + allocation.usable;
  return std::min(allocation.end_page, begin + kMostGuarded);
}

void FillRedZone(const Allocation& allocation) {
  std::fill(StartOfRedZone(allocation), allocation.data, kUntouched);
  std::fill(allocation.data + allocation.usable, EndOfRedZone(allocation),
            kUntouched);
}

void Protect(const Allocation& allocation, int access) {
  mprotect(allocation.first_page,
           static_cast<size_t>(allocation.end_page - allocation.first_page),
           access);
}

}  // namespace

DeviceMemory& Memory() {
  static auto* memory = new DeviceMemory;
  return *memory;
}

bool DeviceMemory::Reserve() {
  if (region_ != nullptr) return true;
  void* region = mmap(nullptr, kRegionBytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return false;
  region_ = static_cast<char*>(region);
  next_ = region_ + kPage;
  // The signal handler must not allocate.
  open_.reserve(4096);
  return true;
}

char* DeviceMemory::Allocate(size_t bytes, size_t limit) {
  if (bytes > limit || in_use_ > limit - bytes || !Reserve()) return nullptr;
  const size_t size = RoundUp(std::max<size_t>(bytes, 1), kPage);
  const auto left = static_cast<size_t>(region_ + kRegionBytes - next_);
  if (size + kPage > left) return nullptr;
  Allocation allocation{};
  allocation.first_page = next_;
  allocation.end_page = next_ + size;
  allocation.data = allocation.end_page - RoundUp(bytes, kAlignment);
  allocation.bytes = allocation.usable = bytes;
  allocation.number = ++count_;
  if (mprotect(next_, size, kReadWrite) != 0) return nullptr;
  std::memset(allocation.data, kNaN, std::min(bytes, kMostFilled));
  FillRedZone(allocation);
  mprotect(next_, size, PROT_NONE);
  allocations_.emplace(next_, allocation);
  next_ += size + kPage;
  in_use_ += bytes;
  return allocation.data;
}

bool DeviceMemory::Free(void* pointer) {
  Allocation* allocation = Find(pointer);
  if (allocation == nullptr || allocation->data != pointer) return false;
  const auto size =
      static_cast<size_t>(allocation->end_page - allocation->first_page);
  madvise(allocation->first_page, size, MADV_DONTNEED);
  Protect(*allocation, PROT_NONE);
  in_use_ -= allocation->bytes;
  allocations_.erase(allocation->first_page);
  return true;
}

bool DeviceMemory::SetUsable(void* pointer, size_t bytes) {
  Allocation* allocation = Find(pointer);
  if (allocation == nullptr || allocation->data != pointer) return false;
  allocation->usable = std::min(bytes, allocation->bytes);
  if (allocation->usable == 0) return true;
  char* end = allocation->data + allocation->usable;
  if (end == allocation->end_page) return true;
  Protect(*allocation, kReadWrite);
  FillRedZone(*allocation);
  Protect(*allocation, allocation->access);
  return true;
}

bool DeviceMemory::Contains(const void* address) const {
  const auto* byte = static_cast<const char*>(address);
  return region_ != nullptr && byte >= region_ && byte < region_ + kRegionBytes;
}

const Allocation* DeviceMemory::Find(const void* address) const {
  auto found = allocations_.upper_bound(static_cast<const char*>(address));
  if (found == allocations_.begin()) return nullptr;
  const Allocation& allocation = std::prev(found)->second;
  return address < allocation.end_page + kPage ? &allocation : nullptr;
}

Allocation* DeviceMemory::Find(const void* address) {
  return const_cast<Allocation*>(std::as_const(*this).Find(address));
}

void DeviceMemory::Grant(Allocation* allocation, int access) {
  if ((allocation->access & access) == access) return;
  if (allocation->access == 0) open_.push_back(allocation);
  allocation->access = access;
  Protect(*allocation, access);
}

void DeviceMemory::Touch(const void* address, bool write) {
  Allocation* allocation = Find(address);
  const auto* byte = static_cast<const char*>(address);
  const bool inside = allocation != nullptr && allocation->usable > 0 &&
                      byte >= allocation->first_page &&
                      byte < allocation->end_page &&
                      open_.size() < open_.capacity();
  if (inside) return Grant(allocation, write ? kReadWrite : PROT_READ);
  char text[160];
  Describe(address, text, sizeof(text));
  Fault(cudaErrorIllegalAddress, "illegal %s: %s", write ? "write" : "read",
        text);
}

void DeviceMemory::Open(const void* address, size_t bytes, bool write) {
  Allocation* allocation = Find(address);
  const auto* byte = static_cast<const char*>(address);
  const bool inside = allocation != nullptr && byte >= allocation->data &&
                      bytes <= allocation->usable &&
                      static_cast<size_t>(byte - allocation->data) <=
                          allocation->usable - bytes;
  if (inside) return Grant(allocation, write ? kReadWrite : PROT_READ);
  char text[160];
  Describe(address, text, sizeof(text));
  Fault(cudaErrorIllegalAddress, "%s of %zu bytes that are not all there: %s",
        write ? "write" : "read", bytes, text);
}

const char* DeviceMemory::Damage(const Allocation& allocation) {
  const auto changed = [](char byte) { return byte != kUntouched; };
  const char* before = StartOfRedZone(allocation);
  const char* found =
      std::find_if<const char*>(before, allocation.data, changed);
  if (found != allocation.data) return found;
  const char* end = EndOfRedZone(allocation);
  found = std::find_if<const char*>(allocation.data + allocation.usable, end,
                                    changed);
  return found == end ? nullptr : found;
}

void DeviceMemory::CloseAll() {
  const char* damage = nullptr;
  for (Allocation* allocation : open_) {
    const bool written = (allocation->access & PROT_WRITE) != 0;
    if (written && damage == nullptr) {
      damage = Damage(*allocation);
      if (damage != nullptr) FillRedZone(*allocation);
    }
    allocation->access = PROT_NONE;
    Protect(*allocation, PROT_NONE);
  }
  open_.clear();
  if (damage == nullptr) return;
  char text[160];
  Describe(damage, text, sizeof(text));
  Fault(cudaErrorIllegalAddress, "write out of bounds: %s", text);
}

void DeviceMemory::Describe(const void* address,
                            char* text,
                            size_t size) const {
  const Allocation* allocation = Find(address);
  if (allocation == nullptr) {
    std::snprintf(text, size, "%p is in no allocation of the device", address);
    return;
  }
  std::snprintf(text, size, "%p is byte %td of allocation %d, which has %zu%s",
                address, static_cast<const char*>(address) - allocation->data,
                allocation->number, allocation->usable,
                allocation->usable == 0 ? " (it waits in a cache)" : " bytes");
}

}  // namespace sluice::cuda_emulation
