#pragma once

#include <cstdint>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// The k best elements of each row of x [rows, columns], on ParallelFor, into
// values [rows, k] and their columns into indices [rows, k], both in host
// memory; 0 <= k <= columns. Equal elements are taken by lower index first; NaN
// is larger than every number, 0 and -0 are equal. Best first where `sorted`,
// else in any order. T: every dtype but bool.
template <typename T>
SLUICE_API void TopK(const T* x,
                     int64_t rows,
                     int64_t columns,
                     int64_t k,
                     bool largest,
                     bool sorted,
                     T* values,
                     int64_t* indices);

}  // namespace sluice::operators::math
