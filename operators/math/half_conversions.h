#pragma once

#include <type_traits>

#include <Eigen/Core>

#include "sluice/platform/dtype.h"

// Kernels compute float16 and bfloat16 in float and round once, to nearest
// even. For .cc and .cu files only.
namespace sluice {

template <typename T>
inline constexpr bool kIsHalf =
    std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

// The Eigen type for T, with the same layout.
template <typename T>
struct EigenTypeOf {
  using Type = T;
};
template <>
struct EigenTypeOf<float16> {
  using Type = Eigen::half;
};
template <>
struct EigenTypeOf<bfloat16> {
  using Type = Eigen::bfloat16;
};
template <typename T>
using EigenType = typename EigenTypeOf<T>::Type;

// float for float16 and bfloat16, otherwise T.
template <typename T>
using Computed = std::conditional_t<kIsHalf<T>, float, T>;

// In devices std::bit_cast makes no Eigen::half: nvcc compiles a trap, and says
// nothing. That of Eigen does.
template <typename T>
EIGEN_DEVICE_FUNC inline Computed<T> Widen(T value) {
  if constexpr (kIsHalf<T>) {
    return static_cast<float>(Eigen::numext::bit_cast<EigenType<T>>(value));
  } else {
    return value;
  }
}

template <typename T>
EIGEN_DEVICE_FUNC inline T Narrow(Computed<T> value) {
  if constexpr (kIsHalf<T>) {
    return Eigen::numext::bit_cast<T>(EigenType<T>(value));
  } else {
    return value;
  }
}

}  // namespace sluice
