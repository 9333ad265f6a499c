#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice {

// Sizes are rounded up so that a freed block fits the next request of about its
// size: to 64 bytes up to 512, then to an eighth of the power of two below (at
// most 12.5 % more), and from 1 MiB on to 64 KiB. Blocks are cached by class;
// above 1 MiB the blocks of one class differ in size.
inline constexpr size_t kLargeBytes = size_t{1} << 20;
inline constexpr size_t kLargeStep = size_t{64} << 10;
inline constexpr size_t kMaxBytes = size_t{1} << 47;
inline constexpr int kSizeClasses = 8 + (47 - 9) * 8;

// Returns the class of a request of 1 to kMaxBytes bytes.
constexpr int SizeClass(size_t bytes) {
  const size_t last = bytes - 1;
  if (last < 512) return static_cast<int>(last / 64);
  const int log = static_cast<int>(std::bit_width(last)) - 1;
  const int eighth = static_cast<int>(last >> (log - 3)) - 8;
  return 8 + (log - 9) * 8 + eighth;
}

// Rounds up a request of 1 to kMaxBytes bytes.
constexpr size_t RoundToClass(size_t bytes) {
  const size_t last = bytes - 1;
  size_t step = 64;
  if (bytes > kLargeBytes) {
    step = kLargeStep;
  } else if (last >= 512) {
    step = size_t{1} << (std::bit_width(last) - 4);
  }
  return (last / step + 1) * step;
}

}  // namespace sluice
