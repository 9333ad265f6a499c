#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

// Returns the largest, or smallest, of `count` elements, at least one; NaN if
// one is NaN. Which of 0 and -0 is open. Runs on the calling thread. T: float,
// double.
template <typename T>
SLUICE_API T LargestOf(const T* x, int64_t count);
template <typename T>
SLUICE_API T SmallestOf(const T* x, int64_t count);

// Makes best[j] the largest, or smallest, of itself and of element j of four
// rows of `columns` elements; NaN if one is.
template <typename T>
SLUICE_API void TakeFourRows(bool largest,
                             const T* const (&rows)[4],
                             int64_t columns,
                             T* best);

}  // namespace sluice
