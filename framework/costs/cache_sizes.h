#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

// Sizes of the data caches in bytes, from the C library or the kernel's files.
// Unknown levels get a usual size (32 KiB, 1 MiB, 32 MiB). L1 and L2 are those
// of one core.
struct CacheSizes {
  int64_t l1 = 0;
  int64_t l2 = 0;
  int64_t l3 = 0;
};

// Read once; thread-safe.
SLUICE_API const CacheSizes& DataCacheSizes();

}  // namespace sluice
