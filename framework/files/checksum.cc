#include "sluice/framework/files/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice {

static_assert(std::endian::native == std::endian::little,
              "checkpoints are little-endian");

uint64_t Checksum(const void* bytes, size_t count) {
  constexpr size_t kWord = sizeof(uint64_t);
  const char* next = static_cast<const char*>(bytes);
  uint64_t hash = count;
  const auto add = [&](size_t size) {
    uint64_t word = 0;
    std::memcpy(&word, next, size);
    hash = std::rotl((hash ^ word) * 0x9E3779B97F4A7C15u, 31);
    next += size;
  };
  for (; count >= kWord; count -= kWord) {
    add(kWord);
  }
  if (count > 0) add(count);
  return hash;
}

}  // namespace sluice
