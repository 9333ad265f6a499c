#include "sluice/laboratory/measure/cold_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "sluice/framework/costs/cache_sizes.h"
#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kLine = 64;

size_t EvictingBytes() {
  const CacheSizes& caches = DataCacheSizes();
  const int64_t wanted = 2 * caches.l3 + 2 * caches.l2 * int64_t{NumThreads()};
  return static_cast<size_t>(std::min(wanted, HostMemoryBytes() / 4));
}

}  // namespace

CacheEvictor::CacheEvictor() : bytes_(EvictingBytes()) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    Raise(ErrorCode::kResourceExhausted, "measure.evictor",
          "no {} bytes of memory to measure with cold caches: {}", bytes_,
          std::strerror(errno));
  }
  // Huge pages cause fewer page faults. Failure is ignored.
  madvise(memory, bytes_, MADV_HUGEPAGE);
  memory_ = static_cast<unsigned char*>(memory);
  // Unwritten pages all map to the same zero page.
  std::memset(memory_, 1, bytes_);
}

CacheEvictor::~CacheEvictor() {
  munmap(memory_, bytes_);
}

void CacheEvictor::Evict() {
  const auto lines = static_cast<int64_t>(bytes_) / kLine;
  ParallelFor(lines, 4096, [this](int64_t begin, int64_t end) {
    const volatile unsigned char* memory = memory_;
    for (int64_t line = begin; line < end; ++line) {
      static_cast<void>(memory[line * kLine]);
    }
  });
}

}  // namespace sluice
