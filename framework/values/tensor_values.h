#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice {

// Returns the elements of a tensor of any dtype and place as float64; integers
// beyond 2^53 are rounded. For comparing and printing, not for computing.
// Raises FailedPrecondition before allocation.
SLUICE_API std::vector<double> ToDoubles(const Tensor& tensor);

// Returns a host tensor of `dtype` with the numbers rounded to nearest.
SLUICE_API Tensor FromDoubles(DType dtype,
                              const DDim& dims,
                              const std::vector<double>& values);

// Whether a double of this magnitude exists; always true up to 2^53.
constexpr bool IsDouble(uint64_t magnitude) {
  return magnitude == 0 ||
         magnitude >> std::countr_zero(magnitude) <= uint64_t{1} << 53;
}

// Whether ToDoubles rounds none of the elements.
SLUICE_API bool AreDoubles(const Tensor& tensor);

// "[3, 1]": an element by its index in row-major order.
SLUICE_API std::string IndexText(const DDim& dims, int64_t element);

}  // namespace sluice
