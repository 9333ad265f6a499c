#pragma once

#include <cstdint>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"
#include "sluice/platform/number_format.h"

namespace sluice::operators::math {

// out[i] = from[i] as `dtype`, for `count` elements in host memory, on
// ParallelFor. To a float: round to nearest, ties to even. From a float to an
// integer: truncated, clamped to the range, NaN to 0; to one of 4 or 2 bits:
// truncated, modulo 2^bits. Between integers: modulo 2^bits. To bool: whether
// it is not 0 (NaN is true). To floats of 8 bits or less: platform::Encode.
SLUICE_API void Cast(platform::DType from_dtype,
                     const void* from,
                     int64_t count,
                     platform::DType dtype,
                     void* out,
                     platform::Narrowing narrowing = {});
template <typename T>
void Cast(const T* from, int64_t count, platform::DType dtype, void* out) {
  Cast(platform::kDTypeOf<T>, from, count, dtype, out);
}

}  // namespace sluice::operators::math
