#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

// Memory larger than all caches together. Reading it evicts their contents. For
// one thread at a time.
class SLUICE_API CacheEvictor {
 public:
  // Allocates 2 * L3 + threads * 2 * L2 bytes, at most a quarter of the memory
  // that the process may use, where threads is NumThreads() of the calling
  // thread. Raises ResourceExhausted if memory is short.
  CacheEvictor();
  ~CacheEvictor();
  CacheEvictor(const CacheEvictor&) = delete;
  CacheEvictor& operator=(const CacheEvictor&) = delete;

  size_t bytes() const { return bytes_; }
  // Reads every cache line; each thread reads its own share.
  void Evict();

 private:
  size_t bytes_;
  unsigned char* memory_;
};

}  // namespace sluice
