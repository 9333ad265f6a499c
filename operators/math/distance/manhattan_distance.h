#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Pairwise Manhattan (L1) distances of the rows of two matrices in row-major
// host memory: x is [n, p], y is [m, p], z and gz are [n, m].
//
//   z[i, j]  =  sum_k |x[i, k] - y[j, k]|
//   gx[i, k] =  sum_j gz[i, j] * sign(x[i, k] - y[j, k])
//   gy[j, k] = -sum_i gz[i, j] * sign(x[i, k] - y[j, k])
//
// sign(0) is 0, and so is the sign of a NaN difference; z is NaN then. Any size
// may be 0: p = 0 results in z = 0, and empty sums are 0. Outputs must not
// overlap inputs. T is float or double. Sums are blocked, so that the relative
// error of z is near that of a sum of 128 terms (about 1e-6 in float).
//
// The blocked functions run through ParallelFor with the best instruction set
// of the CPU. They use 64 KB of stack a thread and no other memory. The bits of
// their results do not depend on the number of threads, but may differ between
// instruction sets and from the plain functions.
namespace sluice {

// Whether ManhattanDistanceBlocked sums along features, in vectors of `lanes`
// numbers: distances side by side would leave half of the lanes empty, or few
// rows would pay for packing y.
constexpr bool FewPoints(int64_t n, int64_t m, int64_t p, int64_t lanes) {
  return p >= 2 * lanes && (n <= 2 || 2 * m <= lanes);
}

template <typename T>
SLUICE_API void ManhattanDistanceBlocked(
    const T* x, const T* y, T* z, int64_t n, int64_t m, int64_t p);

// Evaluates the formula for one pair of rows after the other.
template <typename T>
SLUICE_API void ManhattanDistancePlain(
    const T* x, const T* y, T* z, int64_t n, int64_t m, int64_t p);

// Computes the gradients of sum(gz * z), unless gx or gy is null.
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

}  // namespace sluice
