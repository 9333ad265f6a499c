#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice::operators::math {

// Writes `value` to `count` elements, for every dtype: on the calling thread,
// or on ParallelFor.
template <typename T>
SLUICE_API void FillContiguous(T value, int64_t count, T* to);
template <typename T>
SLUICE_API void Fill(T value, int64_t count, T* to);

}  // namespace sluice::operators::math
