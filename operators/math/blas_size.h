#pragma once

#include <cstdint>
#include <limits>

#include "sluice/platform/error.h"

namespace sluice {

// Returns a size or a stride as an int for BLAS libraries. Raises Unimplemented
// if it does not fit.
inline int BlasSize(int64_t value) {
  SLUICE_ENFORCE(
      value <= std::numeric_limits<int>::max(), ErrorCode::kUnimplemented,
      "blas.size",
      "a matrix has a size or a row of {} elements; the library takes up to {}",
      value, std::numeric_limits<int>::max());
  return static_cast<int>(value);
}

}  // namespace sluice
