#include "sluice/framework/measure/cold_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::framework {
namespace {

using platform::ErrorCode;

constexpr int64_t kLine = 64;

// What the kernel says of a data cache of the first processor; 0 where it says
// nothing. The C library adds up caches of the third level that processors of
// AMD do not share.
int64_t KernelsCacheSize(int level) {
  for (int index = 0;; ++index) {
    const std::string folder =
        platform::Format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    std::ifstream levels(folder + "level"), types(folder + "type"),
        sizes(folder + "size");
    int found = 0;
    int64_t kilobytes = 0;
    std::string type;
    if (!(levels >> found) || !(types >> type) || !(sizes >> kilobytes)) {
      return 0;
    }
    if (found == level && type != "Instruction") return kilobytes << 10;
  }
}

int64_t CacheSize(int level, int name, int64_t usual) {
  const int64_t kernels = KernelsCacheSize(level);
  if (kernels > 0) return kernels;
  const int64_t told = sysconf(name);
  return told > 0 ? told : usual;
}

size_t EvictingBytes() {
  const CacheSizes& caches = DataCacheSizes();
  const int64_t wanted =
      2 * caches.l3 + 2 * caches.l2 * int64_t{platform::NumThreads()};
  return static_cast<size_t>(std::min(wanted, platform::HostMemoryBytes() / 4));
}

}  // namespace

const CacheSizes& DataCacheSizes() {
  static const CacheSizes kSizes = {
      .l1 = CacheSize(1, _SC_LEVEL1_DCACHE_SIZE, 32 << 10),
      .l2 = CacheSize(2, _SC_LEVEL2_CACHE_SIZE, 1 << 20),
      .l3 = CacheSize(3, _SC_LEVEL3_CACHE_SIZE, 32 << 20)};
  return kSizes;
}

CacheEvictor::CacheEvictor() : bytes_(EvictingBytes()) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    platform::Raise(ErrorCode::kResourceExhausted, "measure.evictor",
                    "no {} bytes of memory to measure with cold caches: {}",
                    bytes_, std::strerror(errno));
  }
  // Fewer page faults; where the system cannot it goes without.
  madvise(memory, bytes_, MADV_HUGEPAGE);
  memory_ = static_cast<unsigned char*>(memory);
  // Pages that nobody has written to are all the same one.
  std::memset(memory_, 1, bytes_);
}

CacheEvictor::~CacheEvictor() {
  munmap(memory_, bytes_);
}

void CacheEvictor::Evict() {
  const auto lines = static_cast<int64_t>(bytes_) / kLine;
  platform::ParallelFor(lines, 4096, [this](int64_t begin, int64_t end) {
    const volatile unsigned char* memory = memory_;
    for (int64_t line = begin; line < end; ++line) {
      static_cast<void>(memory[line * kLine]);
    }
  });
}

}  // namespace sluice::framework
