#pragma once

#include <cstdint>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"
#include "sluice/platform/number_format.h"

namespace sluice {

// out[i] = from[i] as `dtype`, for `count` elements in host memory, through
// ParallelFor. To a float: rounds to nearest, ties to even. From a float to an
// integer: truncates, clamps to the range, NaN to 0; to 4 or 2 bits: truncates,
// modulo 2^bits. Between integers: modulo 2^bits. To bool: true unless 0 (NaN
// is true). To floats of 8 bits or less: Encode.
SLUICE_API void Cast(DType from_dtype,
                     const void* from,
                     int64_t count,
                     DType dtype,
                     void* out,
                     Narrowing narrowing = {});
template <typename T>
void Cast(const T* from, int64_t count, DType dtype, void* out) {
  Cast(kDTypeOf<T>, from, count, dtype, out);
}

}  // namespace sluice
