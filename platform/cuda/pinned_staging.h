#pragma once

#include <cstddef>
#include <vector>

namespace sluice::platform {

// Pinned host memory for the copies of one context, handed out piece by piece
// until all of it is free again. Used by one thread at a time.
class PinnedStaging {
 public:
  PinnedStaging() = default;
  ~PinnedStaging();
  PinnedStaging(const PinnedStaging&) = delete;
  PinnedStaging& operator=(const PinnedStaging&) = delete;

  // 64-byte aligned; nullptr when a copy is too large for it, when 256 MiB are
  // on their way already, or when the system has no pinned memory left: then
  // copy without it.
  void* Take(size_t bytes);
  // Nothing that was handed out is in use any more.
  void Reset();

 private:
  struct Chunk {
    char* memory;
    size_t bytes;
  };

  void FreeBeyond(size_t count);

  std::vector<Chunk> chunks_;
  size_t total_ = 0;  // bytes of all chunks
  size_t used_ = 0;   // of the last chunk
};

}  // namespace sluice::platform
