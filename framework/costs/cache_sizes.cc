#include "sluice/framework/costs/cache_sizes.h"

#include <fstream>
#include <string>

#include <unistd.h>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

// Returns the kernel's size of a data cache of the first processor, or 0. The C
// library is wrong for level 3 on AMD: it adds up caches that its processors do
// not share.
int64_t KernelsCacheSize(int level) {
  for (int index = 0;; ++index) {
    const std::string folder =
        Format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
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

}  // namespace

const CacheSizes& DataCacheSizes() {
  static const CacheSizes kSizes = {
      .l1 = CacheSize(1, _SC_LEVEL1_DCACHE_SIZE, 32 << 10),
      .l2 = CacheSize(2, _SC_LEVEL2_CACHE_SIZE, 1 << 20),
      .l3 = CacheSize(3, _SC_LEVEL3_CACHE_SIZE, 32 << 20)};
  return kSizes;
}

}  // namespace sluice
