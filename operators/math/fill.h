#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

// Writes `value` to `count` elements of any dtype: FillContiguous on the
// calling thread, Fill through ParallelFor.
template <typename T>
SLUICE_API void FillContiguous(T value, int64_t count, T* to);
template <typename T>
SLUICE_API void Fill(T value, int64_t count, T* to);
// Fills elements of `size` bytes, 1, 2, 4 or 8, of any dtype.
SLUICE_API void FillBytes(const void* value,
                          size_t size,
                          int64_t count,
                          void* to);

}  // namespace sluice
