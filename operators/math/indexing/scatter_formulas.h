#pragma once

#include <cstdint>
#include <type_traits>

// What the reductions of scatters make of an element and an update. Host and
// device code share it.
namespace sluice::operators::math {

// Integers modulo a power of 2.
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

// NaN is kept, whichever of the two it is.
struct ScatterLargest {
  template <typename T>
  constexpr T operator()(T old, T update) const {
    if (update > old) return update;
    // Neither where one of them is NaN: then the sum is.
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

}  // namespace sluice::operators::math
