#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Pairwise Manhattan (L1) distances of the rows of two matrices, on the CPU,
// over raw row-major memory: x is [n, p], y is [m, p], z and gz are [n, m].
//
//   z[i, j]  =  sum_k |x[i, k] - y[j, k]|
//   gx[i, k] =  sum_j gz[i, j] * sign(x[i, k] - y[j, k])
//   gy[j, k] = -sum_i gz[i, j] * sign(x[i, k] - y[j, k])
//
// sign(0) is 0, and so is the sign of a difference that is NaN; in z a NaN
// shows. Any size may be 0: p = 0 gives z = 0, empty sums give 0. Outputs must
// not overlap inputs. T is float or double. Sums are blocked, so the relative
// error of z stays near that of a sum of 128 terms (some 1e-6 in float).
//
// The blocked functions run through ParallelFor, with the best instruction set
// that the CPU has, and take 64 KB of stack a thread but no other memory. The
// bits of their results do not depend on the number of threads; they may differ
// from one instruction set to another and from the plain functions.
namespace sluice::operators::math {

template <typename T>
SLUICE_API void ManhattanDistanceBlocked(
    const T* x, const T* y, T* z, int64_t n, int64_t m, int64_t p);

// The same by the formula, one pair of rows after the other.
template <typename T>
SLUICE_API void ManhattanDistancePlain(
    const T* x, const T* y, T* z, int64_t n, int64_t m, int64_t p);

// Gradients of sum(gz * z); gx or gy may be null, then it is left out.
template <typename T>
SLUICE_API void ManhattanDistanceGradBlocked(const T* x,
                                             const T* y,
                                             const T* gz,
                                             T* gx,
                                             T* gy,
                                             int64_t n,
                                             int64_t m,
                                             int64_t p);

template <typename T>
SLUICE_API void ManhattanDistanceGradPlain(const T* x,
                                           const T* y,
                                           const T* gz,
                                           T* gx,
                                           T* gy,
                                           int64_t n,
                                           int64_t m,
                                           int64_t p);

}  // namespace sluice::operators::math
