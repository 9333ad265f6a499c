#pragma once

#include <optional>
#include <string>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice {

// How far two values of the same variable may be apart.
struct ValueTolerance {
  // |a - b| <= absolute + relative * max(|a|, |b|), if one of them is set; the
  // other is then 0.
  std::optional<double> relative{};
  std::optional<double> absolute{};
  // Otherwise |a - b| <= rounding * (|a| + s), where s is the largest finite
  // magnitude of a (see RoundingFactor in reference.h). 0 requires equality.
  double rounding = 0;

  bool given() const { return relative.has_value() || absolute.has_value(); }
};

struct ValueDifference {
  double absolute = 0;  // the largest |a - b|
  double relative = 0;  // the largest |a - b| / max(|a|, |b|)
  // The largest |a - b| over its bound; infinity if the bound is 0.
  double over_bound = 0;
  bool differs = false;  // beyond the tolerance, or in shape or dtype
  int64_t element = -1;  // row-major index of the farthest beyond, or -1
  double a = 0;          // values of that element
  double b = 0;
};

// A NaN equals a NaN; an infinity equals only the same infinity. Tensors may be
// at any place.
SLUICE_API ValueDifference Difference(const Tensor& a,
                                      const Tensor& b,
                                      const ValueTolerance& tolerance);

}  // namespace sluice
