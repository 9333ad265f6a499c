#pragma once

#include <optional>
#include <string>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// How far two values of the same variable may be apart.
struct ValueTolerance {
  // |a - b| <= absolute + relative * max(|a|, |b|), where one of them is given;
  // the other is 0 then.
  std::optional<double> relative{};
  std::optional<double> absolute{};
  // Else |a - b| <= rounding * (|a| + s), s being the largest finite magnitude
  // of a: see RoundingFactor in reference.h. 0 wants them equal.
  double rounding = 0;

  bool given() const { return relative.has_value() || absolute.has_value(); }
};

struct ValueDifference {
  double absolute = 0;  // the largest |a - b|
  double relative = 0;  // the largest |a - b| / max(|a|, |b|)
  // The largest |a - b| over what is allowed; infinity where nothing is.
  double over_bound = 0;
  bool differs = false;  // beyond the tolerance, or in shape or dtype
  int64_t element = -1;  // in row-major order, that is farthest beyond; or -1
  double a = 0;          // and its values
  double b = 0;
};

// NaN agrees with NaN, an infinity with the same infinity only. Tensors at any
// place.
SLUICE_API ValueDifference Difference(const Tensor& a,
                                      const Tensor& b,
                                      const ValueTolerance& tolerance);

}  // namespace sluice::framework
