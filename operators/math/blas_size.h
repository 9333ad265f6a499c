#pragma once

#include <cstdint>
#include <limits>

#include "sluice/platform/error.h"

namespace sluice::operators::math {

// A size or a step as BLAS libraries take them. Raises Unimplemented for what
// an int does not hold.
inline int BlasSize(int64_t value) {
  SLUICE_ENFORCE(
      value <= std::numeric_limits<int>::max(), ErrorCode::kUnimplemented,
      "blas.size",
      "a matrix has a size or a row of {} elements; the library takes up to {}",
      value, std::numeric_limits<int>::max());
  return static_cast<int>(value);
}

}  // namespace sluice::operators::math
