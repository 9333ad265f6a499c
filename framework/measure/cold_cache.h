#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice::framework {

// Sizes of the data caches in bytes, as the C library or the kernel's files
// say; a level that they do not name has a usual size (32 KiB, 1 MiB, 32 MiB).
// L1 and L2 are those of one core.
struct CacheSizes {
  int64_t l1 = 0;
  int64_t l2 = 0;
  int64_t l3 = 0;
};

// Read once; for any thread.
SLUICE_API const CacheSizes& DataCacheSizes();

// Memory that is larger than all caches together; walking it displaces what
// they hold. For one thread at a time.
class SLUICE_API CacheEvictor {
 public:
  // Takes 2 * L3 + threads * 2 * L2 bytes, at most a quarter of the memory that
  // the process may use, with NumThreads() of the calling thread. Raises
  // ResourceExhausted where there is no such memory.
  CacheEvictor();
  ~CacheEvictor();
  CacheEvictor(const CacheEvictor&) = delete;
  CacheEvictor& operator=(const CacheEvictor&) = delete;

  size_t bytes() const { return bytes_; }
  // Reads every cache line, each thread those of a part of its own.
  void Evict();

 private:
  size_t bytes_;
  unsigned char* memory_;
};

}  // namespace sluice::framework
