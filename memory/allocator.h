#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "sluice/memory/block_table.h"
#include "sluice/memory/size_class.h"
#include "sluice/platform/device.h"
#include "sluice/platform/export.h"
#include "sluice/platform/place_key.h"

namespace sluice::memory {

// The figures of one place; sizes in bytes.
struct MemoryStats {
  size_t in_use = 0;        // asked for and not freed yet
  size_t peak = 0;          // the most that was in use at once
  size_t reserved = 0;      // taken from the system: in use, rounding and cache
  size_t limit = 0;         // nothing that takes `reserved` past it is granted
  int64_t allocations = 0;  // calls of Alloc that gave memory
  int64_t system_allocations = 0;  // of these, how many asked the system
  int64_t cached_hits = 0;         // and how many reused a freed block
};

// "in use 12 B, peak 4096 B, reserved 4096 B, limit 1048576 B"
SLUICE_API std::string ToString(const MemoryStats& stats);

// The memory of one device. Freed blocks are kept by size class and handed out
// again; what is cached never exceeds a quarter of the limit, and all of it
// goes back to the system before an allocation fails. When the system is asked
// for a block, no more stays cached than is in use, or 512 MiB: requests that
// grow and grow would never find what is cached. There is one for each
// place, made on first use and never destroyed; tests make their own. Every
// function may be called from any thread.
class SLUICE_API CachingAllocator {
 public:
  // `device` must outlive the allocator.
  explicit CachingAllocator(platform::Device& device);
  // Gives everything back to the system, also what is still in use.
  ~CachingAllocator();

  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // See memory::Alloc and memory::Free.
  void* Alloc(size_t bytes);
  void Free(void* pointer);

  // True for a pointer that Alloc returned and that is not freed yet.
  bool Owns(const void* pointer) const;

  MemoryStats stats() const;
  // Applies to what is taken from the system from now on; what is cached goes
  // back at once where it is too much.
  void SetLimit(size_t bytes);
  // Gives the cached blocks back to the system; returns their bytes.
  size_t ReleaseCache();
  // Lets the peak start again from what is in use now.
  void ResetPeak();

 private:
  // All with mutex_ held.
  Block* TakeCached(size_t bytes, size_t rounded);
  Block* TakeFromSystem(size_t rounded);
  Block* Take(size_t bytes, bool fail_first);
  void Cache(Block* block);
  void ReleaseToSystem(Block* block);
  void ReleaseList(int size_class);
  void ReleaseLists();
  void MakeRoomInCache(size_t bytes);
  void ReduceCache(size_t most);

  void Fill(void* pointer, size_t bytes);
  [[noreturn]] void RaiseExhausted(size_t bytes) const;
  void RaiseBadFree(const void* pointer, bool twice) const;

  platform::Device& device_;
  const platform::PlaceKey place_;
  const bool host_accessible_;

  mutable std::mutex mutex_;
  MemoryStats stats_;
  size_t cached_bytes_ = 0;
  std::array<Block*, kSizeClasses> cache_{};
  BlockTable blocks_;
};

// The allocator of a place. Raises what DeviceManager::Get raises.
SLUICE_API CachingAllocator& AllocatorOf(platform::PlaceKey place);

// The places where something was allocated so far, in their order.
SLUICE_API std::vector<platform::PlaceKey> UsedPlaces();

SLUICE_API MemoryStats Stats(platform::PlaceKey place);
SLUICE_API void SetLimit(platform::PlaceKey place, size_t bytes);
SLUICE_API size_t ReleaseCache(platform::PlaceKey place);
SLUICE_API void ResetPeak(platform::PlaceKey place);

}  // namespace sluice::memory
