#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "sluice/platform/export.h"

// Shared terms of the work of kernels (framework/op/kernel_work.h).
namespace sluice {

// Returns the elements of a vector on this machine; `element` is sizeof(T).
SLUICE_API int64_t VectorLanes(size_t element);

// Rounds `count` up to a multiple of `unit`: the elements of whole vectors.
inline double Padded(int64_t count, int64_t unit) {
  const int64_t units = (count + unit - 1) / unit;
  return static_cast<double>(units * unit);
}

// Returns how often an element is read again if a matrix is transposed vector
// by vector, 16 rows of `stride` bytes at a time. Rows a multiple of 2 KB apart
// map to so few sets of the first-level cache that each is evicted before all
// of its elements are used.
inline double AliasedReads(int64_t stride) {
  constexpr int64_t kPage = 4096, kHalfTheWays = 2048;
  const int64_t common = std::gcd(stride, kPage);
  const int64_t reads = common / kHalfTheWays;
  return static_cast<double>(reads);
}

// Returns the share of elements that are read again if `rows` rows with a
// stride of `stride` bytes are read column by column. If the rows map to too
// few sets of the first-level cache (32 KB, 8 ways), a line is evicted before
// its next column is read.
inline double EvictedShare(int64_t stride, int64_t rows) {
  constexpr int64_t kPage = 4096, kLine = 64, kWays = 8;
  const int64_t common = std::max(std::gcd(stride, kPage), kLine);
  const int64_t lines = kWays * kPage / common;
  const double share = static_cast<double>(rows) / static_cast<double>(lines);
  return std::clamp(share - 2, 0.0, 1.0);
}

}  // namespace sluice
