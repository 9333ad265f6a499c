#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// The inner loops of sums in double, on the calling thread, with the best
// instruction set that the CPU has; every one of them gives the same bits. T is
// float or double.
namespace sluice::operators::math {

inline constexpr int64_t kSumBlock = 128;

// Rows that threads share to add up columns, of which there are too few to
// share. How many chunks there are depends on the rows alone, so that the sums
// have the same bits for any number of threads.
struct RowChunks {
  static constexpr int64_t kLeastRows = 2048, kMost = 64;
  int64_t rows = 0, count = 1;

  explicit constexpr RowChunks(int64_t all)
      : rows(all),
        count(all < 2 * kLeastRows       ? 1
              : all / kLeastRows < kMost ? all / kLeastRows
                                         : kMost) {}
  constexpr int64_t First(int64_t chunk) const {
    return rows / count * chunk + (chunk < rows % count ? chunk : rows % count);
  }
  constexpr int64_t Rows(int64_t chunk) const {
    return First(chunk + 1) - First(chunk);
  }
};

// Writes a sum for each block of 128 elements, the last of which may be
// shorter: elements j, j + 8, ... make partial sum j, and these are added in
// pairs.
template <typename T>
SLUICE_API void SumBlocks(const T* x, int64_t count, double* sums);

// Adds columns of `rows` rows that begin `step` elements apart to `sums`: rows
// i, i + 4, ... make partial sum i of a column, and these are added in pairs.
template <typename T>
SLUICE_API void AddToColumns(
    const T* x, int64_t rows, int64_t step, int64_t columns, double* sums);

}  // namespace sluice::operators::math
