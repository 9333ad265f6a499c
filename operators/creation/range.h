#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace sluice::operators {

// How many of start, start + step, ... come before end, for a step other than
// 0; NaN or infinity where that is no number.
inline double RangeCount(double start, double end, double step) {
  const double count = std::ceil((end - start) / step);
  return count < 0 ? 0 : count;
}

// The same for whole numbers below 2^53, whose quotient float64 would round.
inline int64_t RangeCountOfWhole(double start, double end, double step) {
  const auto distance = static_cast<int64_t>(end - start);
  const auto whole_step = static_cast<int64_t>(step);
  if (distance == 0 || (distance < 0) != (whole_step < 0)) return 0;
  return distance / whole_step + (distance % whole_step == 0 ? 0 : 1);
}

// The elements of a range. Integers, whose start and step are whole numbers,
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

}  // namespace sluice::operators
