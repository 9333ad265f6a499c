#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Determinants of `count` dense matrices [n, n] in host memory, through
// ParallelFor, in double. A matrix with its rows and columns permuted is
// decomposed into a lower and an upper triangular one; each pivot is the
// largest remaining element. T: float, double, float16, bfloat16.
namespace sluice {

// The determinant is 1 for n = 0. The product of the pivots has no intermediate
// overflow or underflow.
template <typename T>
SLUICE_API void Determinants(const T* x, int64_t count, int64_t n, T* out);

// Computes x_grad = out_grad times the cofactors of each matrix. These are not
// divided by the last pivot, so that they are also right for rank n - 1. They
// are 0 for lower ranks.
template <typename T>
SLUICE_API void DeterminantGradients(
    const T* x, const T* out_grad, int64_t count, int64_t n, T* x_grad);

}  // namespace sluice
