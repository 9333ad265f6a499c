#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sluice/platform/dtype.h"

namespace sluice {

template <typename T>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Bits = uint32_t;
  static constexpr Bits kInfinity = 0x7F800000;
};
template <>
struct FloatBits<double> {
  using Bits = uint64_t;
  static constexpr Bits kInfinity = 0x7FF0000000000000;
};
template <>
struct FloatBits<float16> {
  using Bits = uint16_t;
  static constexpr Bits kInfinity = 0x7C00;
};
template <>
struct FloatBits<bfloat16> {
  using Bits = uint16_t;
  static constexpr Bits kInfinity = 0x7F80;
};

// Returns an integer with the order of the elements, for every dtype: equal
// elements have equal keys, and NaN has the largest key.
template <typename T>
constexpr auto OrderKey(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else {
    using Bits = typename FloatBits<T>::Bits;
    using Signed = std::make_signed_t<Bits>;
    constexpr Bits kSign = static_cast<Bits>(
        static_cast<Bits>(std::numeric_limits<Signed>::max()) + 1);
    const Bits bits = std::bit_cast<Bits>(value);
    const Bits magnitude = static_cast<Bits>(bits & ~kSign);
    if (magnitude > FloatBits<T>::kInfinity) {
      return std::numeric_limits<Signed>::max();
    }
    const auto key = static_cast<Signed>(magnitude);
    return static_cast<Signed>((bits & kSign) != 0 ? -key : key);
  }
}

}  // namespace sluice
