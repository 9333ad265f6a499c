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

namespace sluice {

// "768 B", "1.6 MB", "400 GB", by powers of 1000; with three digits "1.63 MB".
// So short that it needs no memory of its own.
SLUICE_API std::string ShortBytes(double bytes, int digits = 2);

// Memory counters of one place; sizes are in bytes.
struct MemoryStats {
  size_t in_use = 0;        // requested and not freed yet
  size_t peak = 0;          // the largest `in_use` so far
  size_t reserved = 0;      // held from the system: in use, rounding and cache
  size_t limit = 0;         // `reserved` may not exceed it
  int64_t allocations = 0;  // successful calls of Alloc
  int64_t system_allocations = 0;  // of these, how many called the system
  int64_t cached_hits = 0;         // and how many reused a freed block
};

// "in use 12 B, peak 4096 B, reserved 4096 B, limit 1048576 B"
SLUICE_API std::string ToString(const MemoryStats& stats);

// The memory of one device. Freed blocks are cached by size class and reused.
// The cache never exceeds a quarter of the limit, and all of it goes back to
// the system before an allocation fails. When the system is called for a block,
// the cache keeps at most as many bytes as are in use, or 512 MiB: growing
// requests would never fit what is cached. Each place has one allocator, made
// on first use and never destroyed; tests make their own. Every function may be
// called from any thread.
class SLUICE_API CachingAllocator {
 public:
  // `device` must outlive the allocator.
  explicit CachingAllocator(Device& device);
  // Returns all memory to the system, including blocks that are still in use.
  ~CachingAllocator();

  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // See Alloc and Free.
  void* Alloc(size_t bytes);
  void Free(void* pointer);

  // True for a pointer that Alloc returned and that is not freed yet.
  bool Owns(const void* pointer) const;

  MemoryStats stats() const;
  // Limits later requests to the system. The whole cache is freed at once if
  // more than `bytes` is reserved.
  void SetLimit(size_t bytes);
  // Returns the cached blocks to the system, those of `least` bytes and more;
  // the result is their size in bytes.
  size_t ReleaseCache(size_t least = 0);
  // Resets the peak to what is in use now.
  void ResetPeak();

 private:
  // mutex_ must be held in all of these.
  Block* TakeCached(size_t bytes, size_t rounded);
  Block* TakeFromSystem(size_t rounded);
  Block* Take(size_t bytes, bool fail_first);
  void Cache(Block* block);
  void ReleaseToSystem(Block* block);
  void MakeRoomInCache(size_t bytes);
  void ReduceCache(size_t most, size_t least = 0);

  void Fill(void* pointer, size_t bytes);
  [[noreturn]] void RaiseExhausted(size_t bytes) const;
  void RaiseBadFree(const void* pointer, bool twice) const;

  Device& device_;
  const PlaceKey place_;
  const bool host_accessible_;

  mutable std::mutex mutex_;
  MemoryStats stats_;
  size_t cached_bytes_ = 0;
  std::array<Block*, kSizeClasses> cache_{};
  BlockTable blocks_;
};

// Returns the allocator of a place. Raises what DeviceManager::Get raises.
SLUICE_API CachingAllocator& AllocatorOf(PlaceKey place);

// Returns the places where memory was allocated so far, in their order.
SLUICE_API std::vector<PlaceKey> UsedPlaces();

SLUICE_API MemoryStats Stats(PlaceKey place);
SLUICE_API void SetLimit(PlaceKey place, size_t bytes);
SLUICE_API size_t ReleaseCache(PlaceKey place, size_t least = 0);
SLUICE_API void ResetPeak(PlaceKey place);

}  // namespace sluice
