#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

// The formulas by which scatters combine an element and an update. Shared by
// host and device code.
namespace sluice {

enum class ScatterReduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };

// Returns the neutral element: it leaves an update unchanged.
template <typename T>
constexpr T ScatterNeutral(ScatterReduction reduction) {
  using Limits = std::numeric_limits<T>;
  constexpr bool kInfinite = Limits::has_infinity;
  switch (reduction) {
    case ScatterReduction::kMul:
      return T{1};
    case ScatterReduction::kMax:
      return kInfinite ? -Limits::infinity() : Limits::lowest();
    case ScatterReduction::kMin:
      return kInfinite ? Limits::infinity() : Limits::max();
    default:
      return T{0};
  }
}

// Adds; integers are modulo a power of 2.
struct ScatterAddition {
  template <typename T>
  constexpr T operator()(T old, T update) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(old) +
                            static_cast<uint64_t>(update));
    } else {
      return old + update;
    }
  }
};

struct ScatterProduct {
  template <typename T>
  constexpr T operator()(T old, T update) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(old) *
                            static_cast<uint64_t>(update));
    } else {
      return old * update;
    }
  }
};

// Returns NaN if either of the two is NaN.
struct ScatterLargest {
  template <typename T>
  constexpr T operator()(T old, T update) const {
    if (update > old) return update;
    // If both comparisons are false, one is NaN, and so is the sum.
    return update <= old ? old : static_cast<T>(old + update);
  }
};

struct ScatterSmallest {
  template <typename T>
  constexpr T operator()(T old, T update) const {
    if (update < old) return update;
    return update >= old ? old : static_cast<T>(old + update);
  }
};

}  // namespace sluice
