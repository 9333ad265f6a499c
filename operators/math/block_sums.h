#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// The inner loops of sums in double. They run on the calling thread, with the
// best instruction set of the CPU; all instruction sets compute the same bits.
// T is float or double.
namespace sluice {

inline constexpr int64_t kSumBlock = 128;

// Chunks of rows that threads share when columns are summed but are too few to
// share. The number of chunks depends on the rows only, so that the sums have
// the same bits for any number of threads.
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

// Writes one sum for each block of 128 elements; the last block may be shorter.
// Elements j, j + 8, ... of a block form partial sum j; partial sums are added
// in pairs.
template <typename T>
SLUICE_API void SumBlocks(const T* x, int64_t count, double* sums);

// Adds to `sums` the columns of `rows` rows with a stride of `step` elements.
// Rows i, i + 4, ... form partial sum i of a column; these are added in pairs.
template <typename T>
SLUICE_API void AddToColumns(
    const T* x, int64_t rows, int64_t step, int64_t columns, double* sums);

// Adds to `sums` the columns of doubles, row after row with compensation:
// sums[2 * j] is the sum of column j, and sums[2 * j + 1] what rounding took
// from it (D. Knuth, The Art of Computer Programming 2, 4.2.2).
SLUICE_API void AddToCompensatedColumns(
    const double* x, int64_t rows, int64_t step, int64_t columns, double* sums);

}  // namespace sluice
