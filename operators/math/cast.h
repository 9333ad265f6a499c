#pragma once

#include <cstdint>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// out[i] = from[i] as `dtype`, for `count` elements in host memory, on
// ParallelFor. To a float: round to nearest, ties to even. From a float to an
// integer: truncated, clamped to the range, NaN to 0. Between integers: modulo
// 2^bits. To bool: whether it is not 0 (NaN is true). T: every dtype.
template <typename T>
SLUICE_API void Cast(const T* from,
                     int64_t count,
                     platform::DType dtype,
                     void* out);

}  // namespace sluice::operators::math
