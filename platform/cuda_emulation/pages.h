#pragma once

#include <cstddef>

namespace sluice::cuda_emulation {

inline constexpr size_t kPage = 4096;
// Every byte of a NaN, in a float of any width: what fresh memory holds.
inline constexpr int kNaN = 0xFF;
// What the bytes around an allocation hold until somebody writes there.
inline constexpr char kUntouched = static_cast<char>(0xA7);

inline size_t RoundUp(size_t bytes, size_t step) {
  return (bytes + step - 1) / step * step;
}

}  // namespace sluice::cuda_emulation
