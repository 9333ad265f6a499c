#include "sluice/memory/memory.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "sluice/memory/allocator.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// The allocators of all places. They are never destroyed, because objects that
// outlive everything else may free memory.
class Allocators {
 public:
  CachingAllocator* Find(PlaceKey place) {
    if (place == PlaceKey()) [[likely]] {
      return cpu_.load(std::memory_order_acquire);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = allocators_.find(place);
    return found == allocators_.end() ? nullptr : found->second.get();
  }

  CachingAllocator& Get(PlaceKey place) {
    CachingAllocator* found = Find(place);
    if (found != nullptr) return *found;
    // The lock is not held here: Get may load a plug-in, which may use memory.
    auto& device = DeviceManager::Instance().Get(place);
    std::lock_guard<std::mutex> lock(mutex_);
    auto& allocator = allocators_[place];
    if (allocator == nullptr) {
      allocator = std::make_unique<CachingAllocator>(device);
    }
    if (place == PlaceKey()) cpu_.store(allocator.get());
    return *allocator;
  }

  std::vector<PlaceKey> Places() {
    std::vector<PlaceKey> places;
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [place, allocator] : allocators_) {
      if (allocator != nullptr) places.push_back(place);
    }
    return places;
  }

 private:
  std::atomic<CachingAllocator*> cpu_{nullptr};
  std::mutex mutex_;
  std::map<PlaceKey, std::unique_ptr<CachingAllocator>> allocators_;
};

Allocators& All() {
  static auto* all = new Allocators;
  return *all;
}

}  // namespace

namespace internal {

void* Alloc(PlaceKey place, size_t bytes) {
  return All().Get(place).Alloc(bytes);
}

void Free(PlaceKey place, void* pointer) {
  if (pointer == nullptr) return;
  CachingAllocator* allocator = All().Find(place);
  if (allocator == nullptr) [[unlikely]] {
    Fail(ErrorCode::kInvalidArgument, "memory.free_unused_place",
         "memory: cannot free {:#x} on {}, where nothing was "
         "allocated so far",
         reinterpret_cast<uintptr_t>(pointer), place);
    return;
  }
  allocator->Free(pointer);
}

size_t Used(PlaceKey place) {
  CachingAllocator* allocator = All().Find(place);
  return allocator == nullptr ? 0 : allocator->stats().in_use;
}

}  // namespace internal

CachingAllocator& AllocatorOf(PlaceKey place) {
  return All().Get(place);
}

std::vector<PlaceKey> UsedPlaces() {
  return All().Places();
}

MemoryStats Stats(PlaceKey place) {
  return AllocatorOf(place).stats();
}

void SetLimit(PlaceKey place, size_t bytes) {
  AllocatorOf(place).SetLimit(bytes);
}

size_t ReleaseCache(PlaceKey place, size_t least) {
  return AllocatorOf(place).ReleaseCache(least);
}

void ResetPeak(PlaceKey place) {
  AllocatorOf(place).ResetPeak();
}

std::string ToString(const MemoryStats& stats) {
  return Format("in use {} B, peak {} B, reserved {} B, limit {} B",
                stats.in_use, stats.peak, stats.reserved, stats.limit);
}

}  // namespace sluice
