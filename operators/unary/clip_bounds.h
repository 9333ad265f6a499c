#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "sluice/framework/op/op_kernel.h"

namespace sluice {

// The bounds of clip, as a float, a double or an integer.
template <typename T>
struct ClipBounds {
  explicit ClipBounds(const OpKernelConstruction& construction)
      : min(Lower(construction.Attr<double>("min"))),
        max(Upper(construction.Attr<double>("max"))) {}

  T min;
  T max;

 private:
  static T Lower(double bound) {
    if constexpr (std::is_integral_v<T>) bound = std::ceil(bound);
    return Convert(bound);
  }
  static T Upper(double bound) {
    if constexpr (std::is_integral_v<T>) bound = std::floor(bound);
    return Convert(bound);
  }
  static T Convert(double bound) {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      if (bound <= static_cast<double>(Limits::min())) return Limits::min();
      if (bound >= static_cast<double>(Limits::max())) return Limits::max();
    }
    return static_cast<T>(bound);
  }
};

}  // namespace sluice
