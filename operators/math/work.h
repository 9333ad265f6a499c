#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "sluice/operators/math/conv/conv2d_rows.h"

// What estimates of kernels' work (framework/op/kernel_work.h) are made of.
namespace sluice::operators::math {

// The elements of a vector on this machine; `element` is sizeof(T).
inline int64_t VectorLanes(size_t element) {
  return Conv2dRowsLanes(element);
}

// `count` as a multiple of `unit`: what vectors compute that are not full.
inline double Padded(int64_t count, int64_t unit) {
  const int64_t units = (count + unit - 1) / unit;
  return static_cast<double>(units * unit);
}

// Moves for each element of a matrix that is transposed vector by vector, 16
// rows of `stride` bytes at a time, beyond those that any matrix takes. Rows a
// multiple of 2 KB apart share so few sets of the first cache that it holds
// none of them until all of its elements are used.
inline double AliasedMoves(int64_t stride) {
  constexpr int64_t kPage = 4096, kHalfTheWays = 2048;
  const int64_t common = std::gcd(stride, kPage);
  return common < kHalfTheWays ? 0 : 2.6 * static_cast<double>(common) / 2048;
}

// Moves for each element of `rows` rows, `stride` bytes apart, of which one
// column after the other is read, beyond those that any rows take: a line of
// the first cache, 32 KB in sets of 8, is lost before its next column is read
// where the rows share too few sets.
inline double ColumnMoves(int64_t stride, int64_t rows) {
  constexpr int64_t kPage = 4096, kLine = 64, kWays = 8;
  const int64_t common = std::max(std::gcd(stride, kPage), kLine);
  const int64_t lines = kWays * kPage / common;
  const double share = static_cast<double>(rows) / static_cast<double>(lines);
  return 1.6 * std::clamp(share - 2, 0.0, 1.0);
}

}  // namespace sluice::operators::math
