#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Arithmetic on contiguous elements. It runs on the calling thread, with the
// best instruction set of the CPU; callers distribute ranges to threads. T is
// float or double. `out` may be an input but must not overlap it otherwise.
// Results are rounded as by the plain C++ expression. Calls for a few elements
// have little overhead.
namespace sluice {

// out[i] = x[i] + y[i].
template <typename T>
SLUICE_API void AddContiguous(const T* x, const T* y, int64_t count, T* out);

// out[i] = x[i] * scale + bias, in two rounded steps.
template <typename T>
SLUICE_API void ScaleContiguous(
    const T* x, T scale, T bias, int64_t count, T* out);

// Computes like AddContiguous, by the plain expression.
template <typename T>
SLUICE_API void AddContiguousPlain(const T* x,
                                   const T* y,
                                   int64_t count,
                                   T* out);
template <typename T>
SLUICE_API void ScaleContiguousPlain(
    const T* x, T scale, T bias, int64_t count, T* out);

}  // namespace sluice
