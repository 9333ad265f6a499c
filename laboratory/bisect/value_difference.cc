#include "sluice/laboratory/bisect/value_difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/laboratory/tuning/reference.h"

namespace sluice {

namespace {

bool Equal(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

ValueDifference Difference(const Tensor& a,
                           const Tensor& b,
                           const ValueTolerance& tolerance) {
  ValueDifference result;
  if (a.dtype() != b.dtype() || !(a.dims() == b.dims())) {
    result.differs = true;
    result.over_bound = std::numeric_limits<double>::infinity();
    return result;
  }
  const std::vector<double> left = ToDoubles(a);
  const std::vector<double> right = ToDoubles(b);
  const double largest = LargestMagnitude(left);
  for (size_t i = 0; i < left.size(); ++i) {
    if (Equal(left[i], right[i])) continue;
    const double error = std::abs(left[i] - right[i]);
    const double scale = std::max(std::abs(left[i]), std::abs(right[i]));
    const double bound =
        tolerance.given() ? tolerance.absolute.value_or(0) +
                                tolerance.relative.value_or(0) * scale
                          : tolerance.rounding * (std::abs(left[i]) + largest);
    // A NaN or infinity on one side only counts as an infinite difference.
    const double over = std::isfinite(error) && bound > 0
                            ? error / bound
                            : std::numeric_limits<double>::infinity();
    if (over > 1 && (!result.differs || over > result.over_bound)) {
      result.differs = true;
      result.element = static_cast<int64_t>(i);
      result.a = left[i];
      result.b = right[i];
    }
    result.over_bound = std::max(result.over_bound, over);
    result.absolute = std::max(result.absolute, error);
    result.relative = std::max(result.relative, error / scale);
  }
  return result;
}

}  // namespace sluice
