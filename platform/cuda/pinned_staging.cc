#include "sluice/platform/cuda/pinned_staging.h"

#include <algorithm>

#include <cuda_runtime.h>

#include "sluice/platform/alignment.h"

namespace sluice {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr size_t kMostBytes = size_t{64} << 20;
// Limits the bytes of all copies that were not waited for yet.
constexpr size_t kMostAtOnce = 4 * kMostBytes;

}  // namespace

PinnedStaging::~PinnedStaging() {
  FreeBeyond(0);
}

void* PinnedStaging::Take(size_t bytes) {
  if (bytes > kMostBytes) return nullptr;
  const size_t rounded = AlignUp(bytes);
  if (chunks_.empty() || rounded > chunks_.back().bytes - used_) {
    const size_t size = std::max(rounded, kChunkBytes);
    if (size > kMostAtOnce - total_) return nullptr;
    chunks_.reserve(chunks_.size() + 1);
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, size, cudaHostAllocDefault) != cudaSuccess) {
      // Otherwise Eigen would report the error as its own.
      static_cast<void>(cudaGetLastError());
      return nullptr;
    }
    chunks_.push_back({static_cast<char*>(memory), size});
    total_ += size;
    used_ = 0;
  }
  void* memory = chunks_.back().memory + used_;
  used_ += rounded;
  return memory;
}

void PinnedStaging::Reset() {
  used_ = 0;
  // The largest chunk is kept.
  if (chunks_.size() > 1) {
    std::sort(chunks_.begin(), chunks_.end(),
              [](const Chunk& a, const Chunk& b) { return a.bytes > b.bytes; });
    FreeBeyond(1);
  }
}

void PinnedStaging::FreeBeyond(size_t count) {
  while (chunks_.size() > count) {
    static_cast<void>(cudaFreeHost(chunks_.back().memory));
    total_ -= chunks_.back().bytes;
    chunks_.pop_back();
  }
}

}  // namespace sluice
