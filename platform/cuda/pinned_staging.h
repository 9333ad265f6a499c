#pragma once

#include <cstddef>
#include <vector>

namespace sluice {

// Pinned host memory for the copies of one context. It is handed out in pieces,
// and Reset frees all of them at once. Used by one thread at a time.
class PinnedStaging {
 public:
  PinnedStaging() = default;
  ~PinnedStaging();
  PinnedStaging(const PinnedStaging&) = delete;
  PinnedStaging& operator=(const PinnedStaging&) = delete;

  // Returns 64-byte aligned memory, or nullptr when the copy is too large, when
  // 256 MiB are in use by pending copies, or when the system has no pinned
  // memory left. The caller then copies without staging.
  void* Take(size_t bytes);
  // Frees all pieces; the caller guarantees that none is in use.
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

}  // namespace sluice
