#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Arithmetic on contiguous elements, on the calling thread, with the best
// instruction set that the CPU has; callers share ranges among threads. T is
// float or double. `out` may be an input itself, but not overlap it otherwise.
// Every element is rounded as by the plain C++ expression; the code for a few
// elements is made for low cost per call.
namespace sluice::operators::math {

// out[i] = x[i] + y[i].
template <typename T>
SLUICE_API void AddContiguous(const T* x, const T* y, int64_t count, T* out);

// out[i] = x[i] * scale + bias, in two rounded steps.
template <typename T>
SLUICE_API void ScaleContiguous(
    const T* x, T scale, T bias, int64_t count, T* out);

// The same by the formula.
template <typename T>
SLUICE_API void AddContiguousPlain(const T* x,
                                   const T* y,
                                   int64_t count,
                                   T* out);
template <typename T>
SLUICE_API void ScaleContiguousPlain(
    const T* x, T scale, T bias, int64_t count, T* out);

}  // namespace sluice::operators::math
