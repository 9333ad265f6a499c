#pragma once

#include <cmath>

#include "sluice/platform/dtype.h"
#include "sluice/platform/number_format.h"

namespace sluice {

// Whether an attribute `value` that a tensor is filled with is an element of
// `dtype`. Floats accept every number and round it; other dtypes accept
// integers in their range.
inline bool HoldsNumber(DType dtype, double value) {
  const NumberFormat& format = FormatOf(dtype);
  if (format.is_float()) return true;
  const double count = std::ldexp(1.0, format.bits);
  const double least = format.is_signed ? -count / 2 : 0;
  return std::trunc(value) == value && value >= least && value < least + count;
}

}  // namespace sluice
