#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// The elements of a tensor of any dtype at any place, as float64; int64 values
// beyond 2^53 are rounded. For comparing and printing, not for computing.
// Raises FailedPrecondition before allocation.
SLUICE_API std::vector<double> ToDoubles(const Tensor& tensor);

// Whether there is a double of this magnitude; below 2^53 always.
constexpr bool IsDouble(uint64_t magnitude) {
  return magnitude == 0 ||
         magnitude >> std::countr_zero(magnitude) <= uint64_t{1} << 53;
}

// Whether ToDoubles rounds none of the elements.
SLUICE_API bool AreDoubles(const Tensor& tensor);

}  // namespace sluice::framework
