#include "sluice/memory/allocator.h"

#include <algorithm>
#include <new>

#include "sluice/memory/address_sanitizer.h"
#include "sluice/memory/testing.h"
#include "sluice/platform/alignment.h"
#include "sluice/platform/device_context_pool.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// The cache may keep this many bytes even when nothing is in use.
constexpr size_t kIdleBytes = size_t{512} << 20;

// A cached large block may serve a request this much smaller than itself.
constexpr size_t Tolerated(size_t rounded) {
  return rounded + rounded / 8;
}

void FillDevice(PlaceKey place, void* pointer, size_t bytes) {
  static const std::vector<uint64_t> kPattern(32768, kPoison);
  const size_t piece = kPattern.size() * sizeof(uint64_t);
  const auto context = DeviceContextPool::Instance().Acquire(place);
  auto* to = static_cast<char*>(pointer);
  for (size_t done = 0; done < bytes; done += piece) {
    context->CopyFromHost(to + done, kPattern.data(),
                          std::min(piece, bytes - done));
  }
  context->Wait();
}

}  // namespace

CachingAllocator::CachingAllocator(Device& device)
    : device_(device),
      place_(device.place()),
      host_accessible_(device.host_accessible()) {
  stats_.limit = std::min(device.MemoryLimit(), kMaxBytes);
}

CachingAllocator::~CachingAllocator() {
  blocks_.ForEach([this](Block* block) {
    if (host_accessible_) UnpoisonForSanitizer(block->pointer, block->bytes);
    device_.Free(block->pointer, block->bytes);
    delete block;
  });
}

void* CachingAllocator::Alloc(size_t bytes) {
  const internal::Verdict verdict = internal::CountAllocation();
  const bool possible =
      bytes <= kMaxBytes && verdict != internal::Verdict::kFail;
  void* pointer = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Block* block = nullptr;
    if (possible) [[likely]] {
      block = Take(bytes, verdict == internal::Verdict::kFailOnce);
    }
    if (block == nullptr) RaiseExhausted(bytes);
    block->requested = bytes;
    block->cached = false;
    ++stats_.allocations;
    stats_.in_use += bytes;
    stats_.peak = std::max(stats_.peak, stats_.in_use);
    pointer = block->pointer;
    if (host_accessible_) {
      UnpoisonForSanitizer(pointer, bytes);
    } else {
      device_.SetUsable(pointer, bytes);
    }
  }
  if (internal::FillFreshMemory()) Fill(pointer, bytes);
  return pointer;
}

void CachingAllocator::Fill(void* pointer, size_t bytes) {
  if (host_accessible_) {
    internal::FillWithPoison(pointer, bytes);
    return;
  }
  try {
    FillDevice(place_, pointer, bytes);
  } catch (...) {
    Free(pointer);
    throw;
  }
}

Block* CachingAllocator::Take(size_t bytes, bool fail_first) {
  const size_t wanted = std::max<size_t>(bytes, 1);
  const size_t rounded = RoundToClass(wanted);
  if (!fail_first) [[likely]] {
    Block* block = TakeCached(wanted, rounded);
    if (block != nullptr) return block;
    ReduceCache(std::max(kIdleBytes, stats_.in_use));
    block = TakeFromSystem(rounded);
    if (block != nullptr) return block;
  }
  ReduceCache(0);
  Block* block = TakeFromSystem(rounded);
  if (block != nullptr) return block;
  return TakeFromSystem(AlignUp(wanted));
}

Block* CachingAllocator::TakeCached(size_t bytes, size_t rounded) {
  const int first = SizeClass(bytes);
  const int last = bytes <= kLargeBytes
                       ? first
                       : SizeClass(std::min(Tolerated(rounded), kMaxBytes));
  for (int size_class = first; size_class <= last; ++size_class) {
    for (Block** link = &cache_[size_class]; *link != nullptr;
         link = &(*link)->next) {
      Block* block = *link;
      if (block->bytes < bytes || block->bytes > Tolerated(rounded)) continue;
      *link = block->next;
      cached_bytes_ -= block->bytes;
      ++stats_.cached_hits;
      return block;
    }
  }
  return nullptr;
}

Block* CachingAllocator::TakeFromSystem(size_t rounded) {
  if (rounded > stats_.limit || stats_.reserved > stats_.limit - rounded) {
    return nullptr;
  }
  Block* block = nullptr;
  try {
    blocks_.Reserve();
    block = new Block{};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  block->bytes = rounded;
  try {
    block->pointer = device_.Allocate(rounded);
  } catch (...) {
    delete block;
    throw;
  }
  if (block->pointer == nullptr) {
    delete block;
    return nullptr;
  }
  if (host_accessible_) PoisonForSanitizer(block->pointer, rounded);
  blocks_.Insert(block);
  stats_.reserved += rounded;
  ++stats_.system_allocations;
  return block;
}

void CachingAllocator::Free(void* pointer) {
  if (pointer == nullptr) return;
  std::unique_lock<std::mutex> lock(mutex_);
  Block* block = blocks_.Find(pointer);
  if (block == nullptr || block->cached) [[unlikely]] {
    lock.unlock();
    RaiseBadFree(pointer, block != nullptr);
    return;
  }
  if (host_accessible_) {
    if (internal::FillFreshMemory()) [[unlikely]] {
      internal::FillWithPoison(pointer, block->requested);
    }
    PoisonForSanitizer(pointer, block->bytes);
  } else {
    device_.SetUsable(pointer, 0);
  }
  stats_.in_use -= block->requested;
  block->requested = 0;
  MakeRoomInCache(block->bytes);
  if (cached_bytes_ + block->bytes > stats_.limit / 4) {
    ReleaseToSystem(block);
  } else {
    Cache(block);
  }
}

void CachingAllocator::Cache(Block* block) {
  Block*& list = cache_[SizeClass(block->bytes)];
  block->cached = true;
  block->next = list;
  list = block;
  cached_bytes_ += block->bytes;
}

void CachingAllocator::MakeRoomInCache(size_t bytes) {
  const size_t most = stats_.limit / 4;
  if (bytes <= most) ReduceCache(most - bytes);
}

// Frees large blocks first: that takes the fewest calls, and a later request is
// least likely to have exactly their size.
void CachingAllocator::ReduceCache(size_t most, size_t least) {
  for (int size_class = kSizeClasses - 1;
       size_class >= 0 && cached_bytes_ > most; --size_class) {
    Block** link = &cache_[size_class];
    while (*link != nullptr && cached_bytes_ > most) {
      Block* block = *link;
      if (block->bytes < least) {
        link = &block->next;
        continue;
      }
      *link = block->next;
      cached_bytes_ -= block->bytes;
      ReleaseToSystem(block);
    }
  }
}

void CachingAllocator::ReleaseToSystem(Block* block) {
  if (host_accessible_) UnpoisonForSanitizer(block->pointer, block->bytes);
  blocks_.Erase(block);
  stats_.reserved -= block->bytes;
  device_.Free(block->pointer, block->bytes);
  delete block;
}

bool CachingAllocator::Owns(const void* pointer) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const Block* block = blocks_.Find(pointer);
  return block != nullptr && !block->cached;
}

MemoryStats CachingAllocator::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void CachingAllocator::SetLimit(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.limit = std::min(bytes, kMaxBytes);
  if (stats_.reserved > stats_.limit) ReduceCache(0);
}

size_t CachingAllocator::ReleaseCache(size_t least) {
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t bytes = cached_bytes_;
  ReduceCache(0, least);
  return bytes - cached_bytes_;
}

void CachingAllocator::ResetPeak() {
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.peak = stats_.in_use;
}

std::string ShortBytes(double bytes, int digits) {
  constexpr std::string_view kUnits[] = {"B",  "kB", "MB", "GB",
                                         "TB", "PB", "EB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  const int whole = bytes < 9.95 ? 1 : bytes < 99.5 ? 2 : 3;
  return Format("{:.{}f} {}", bytes,
                unit == 0 ? 0 : std::max(digits - whole, 0), kUnits[unit]);
}

// Builds the message without operator new, because that may be what failed.
void CachingAllocator::RaiseExhausted(size_t bytes) const {
  const auto text = [](size_t size) {
    return ShortBytes(static_cast<double>(size), 3);
  };
  const bool within =
      bytes <= stats_.limit && stats_.in_use <= stats_.limit - bytes;
  const char* cause =
      within
          ? "; the limit is not reached, the device itself has no memory left"
          : "";
  Raise(ErrorCode::kResourceExhausted, "memory.exhausted",
        "memory: no room for {} on {}: in use {}, peak {}, reserved {}, "
        "limit {}{}",
        text(bytes), place_, text(stats_.in_use), text(stats_.peak),
        text(stats_.reserved), text(stats_.limit), cause);
}

void CachingAllocator::RaiseBadFree(const void* pointer, bool twice) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (twice) {
    Fail(ErrorCode::kInvalidArgument, "memory.free_twice",
         "memory: {:#x} of {} was freed before", address, place_);
    return;
  }
  Fail(ErrorCode::kInvalidArgument, "memory.free_unknown",
       "memory: {:#x} is not in use on {}: it was freed before, or "
       "{} never allocated it",
       address, place_, place_);
}

}  // namespace sluice
