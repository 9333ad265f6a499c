#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace sluice {

// Returns how many of start, start + step, ... come before end. `step` is not
// 0. Returns NaN or infinity if that is no number.
inline double RangeCount(double start, double end, double step) {
  const double count = std::ceil((end - start) / step);
  return count < 0 ? 0 : count;
}

// Returns the count for integers below 2^53, whose quotient would be rounded.
inline int64_t RangeCountOfWhole(double start, double end, double step) {
  const auto distance = static_cast<int64_t>(end - start);
  const auto whole_step = static_cast<int64_t>(step);
  if (distance == 0 || (distance < 0) != (whole_step < 0)) return 0;
  return distance / whole_step + (distance % whole_step == 0 ? 0 : 1);
}

// Computes the elements of a range. Integers, with an integral start and step,
// are exact; floats are computed in float64.
template <typename T>
struct RangeElements {
  using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

  RangeElements(double first, double difference)
      : start(static_cast<Wide>(first)), step(static_cast<Wide>(difference)) {}

  constexpr Wide operator[](int64_t i) const {
    return start + static_cast<Wide>(i) * step;
  }

  Wide start;
  Wide step;
};

}  // namespace sluice
