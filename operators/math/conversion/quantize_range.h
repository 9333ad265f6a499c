#pragma once

#include <cmath>
#include <cstdint>

namespace sluice {

// The range of a quantization to 2^num_bits levels, 1 / scale apart, for
// computation in C: float or double.
template <typename C>
struct QuantizeRange {
  C min = 0;
  C max = 0;
  C scale = 0;

  static QuantizeRange Make(double min, double max, int64_t num_bits) {
    QuantizeRange range;
    range.min = static_cast<C>(min);
    range.max = static_cast<C>(max);
    range.scale =
        static_cast<C>(std::ldexp(1.0, static_cast<int>(num_bits)) - 1.0) /
        (range.max - range.min);
    return range;
  }

  // False if bounds are NaN, infinite, equal or in the wrong order, or if C
  // cannot represent the scale because they are too far apart or too close.
  bool valid() const {
    return min < max && std::isfinite(max - min) && std::isfinite(scale) &&
           scale > 0;
  }
};

}  // namespace sluice
