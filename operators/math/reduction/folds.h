#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// The inner loops of reductions other than sums and extremes. They run on the
// calling thread, with the best instruction set of the CPU, in double. T is
// float or double.
namespace sluice {

// Returns the sum of exp(x - most) over x, `count` elements of which `most` is
// the largest, less 1. The elements that are `most` are added last.
template <typename T>
SLUICE_API double SumOfExpLess1(const T* x, int64_t count, T most);

// Adds kExpRows rows or less to `columns` columns: most[j] is the largest
// element of column j, and rest[j] the sum of exp(x - most[j]) over it, less 1.
// Before the first call they are -infinity and -1.
inline constexpr int64_t kExpRows = 16;
template <typename T>
SLUICE_API void AddExpRows(const T* const* rows,
                           int64_t count,
                           int64_t columns,
                           T* most,
                           double* rest);

// Multiplies products[2 * j] by the elements of column j of four rows. Returns
// whether all are now between 2^-400 and 2^400, or 0, as they were before: the
// next four rows cannot take such products out of the range.
SLUICE_API bool MultiplyFourRows(const float* const (&rows)[4],
                                 int64_t columns,
                                 double* products);

// Multiplies the eight products by every eighth element of x. Returns how many
// elements, a multiple of 32, it took until one was not in that range.
SLUICE_API int64_t MultiplyLanes(const float* x,
                                 int64_t count,
                                 double* products);

}  // namespace sluice
