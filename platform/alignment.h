#pragma once

#include <cstddef>

namespace sluice {

// The alignment of memory in bytes: a cache line, and the widest vector.
inline constexpr size_t kAlignment = 64;

// Returns `bytes` rounded up to a multiple of the alignment.
constexpr size_t AlignUp(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace sluice
