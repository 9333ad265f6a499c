#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// The inner loops of sums in double, on the calling thread, with the best
// instruction set that the CPU has; every one of them gives the same bits. T is
// float or double.
namespace sluice::operators::math {

inline constexpr int64_t kSumBlock = 128;

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
