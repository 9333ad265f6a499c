#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Determinants of `count` dense matrices [n, n] in host memory, on ParallelFor,
// computed in double: each matrix, its rows and columns reordered, is a product
// of a lower and an upper triangular one, where each pivot is the largest
// element left. T: float, double, float16, bfloat16.
namespace sluice::operators::math {

// 1 for n = 0. The product of the pivots neither overflows nor underflows on
// its way.
template <typename T>
SLUICE_API void Determinants(const T* x, int64_t count, int64_t n, T* out);

// x_grad = out_grad times the cofactors of each matrix, which the last pivot
// does not divide: they are right for matrices of rank n - 1, too, and 0 for
// lower ranks.
template <typename T>
SLUICE_API void DeterminantGradients(
    const T* x, const T* out_grad, int64_t count, int64_t n, T* x_grad);

}  // namespace sluice::operators::math
