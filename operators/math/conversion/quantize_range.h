#pragma once

#include <cmath>
#include <cstdint>

namespace sluice::operators::math {

// The range of a quantisation to 2^num_bits levels, computed with as C:
// float or double. The levels lie 1 / scale apart.
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

  // False for bounds that are NaN, infinite, equal or the wrong way round, or
  // so far apart or near that C cannot hold the scale.
  bool valid() const {
    return min < max && std::isfinite(max - min) && std::isfinite(scale) &&
           scale > 0;
  }
};

}  // namespace sluice::operators::math
