#pragma once

#include <cstdint>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice {

// Writes the k best elements of each row of x [rows, columns] to values [rows,
// k] and their columns to indices [rows, k]. Runs in host memory through
// ParallelFor; 0 <= k <= columns. Equal elements are ordered by index; NaN is
// larger than every number; 0 and -0 are equal. The order is best first if
// `sorted`, otherwise unspecified. T: every dtype but bool.
template <typename T>
SLUICE_API void TopK(const T* x,
                     int64_t rows,
                     int64_t columns,
                     int64_t k,
                     bool largest,
                     bool sorted,
                     T* values,
                     int64_t* indices);

}  // namespace sluice
