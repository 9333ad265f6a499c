#pragma once

#include <cstdint>

#include "sluice/operators/random/philox.h"
#include "sluice/platform/export.h"

// Random tensors in host memory, through ParallelFor. An element depends on the
// stream and its index only. T: float, double.
namespace sluice {

// Sets out to min + u (max - min) for u in [0, 1), rounded from double. Results
// are below max if max > min. u is word / 2^32 for float, and has 53 bits
// (Uniform53) for double.
template <typename T>
SLUICE_API void FillUniform(
    const RandomStream& stream, double min, double max, int64_t count, T* out);

// Sets out to mean + std z, rounded from double. Elements 2j and 2j + 1 are a
// Box-Muller pair of their words.
template <typename T>
SLUICE_API void FillNormal(
    const RandomStream& stream, double mean, double std, int64_t count, T* out);

// Sets out to mean + std z, where z is between -2 and 2: the quantile of (word
// + 1/2) / 2^32 of a normal distribution that is truncated there.
template <typename T>
SLUICE_API void FillTruncatedNormal(
    const RandomStream& stream, double mean, double std, int64_t count, T* out);

// Returns the threshold: element i is kept if its word is at least this.
constexpr uint64_t DropoutThreshold(double probability) {
  const double exact = probability * 4294967296.0;
  const auto whole = static_cast<uint64_t>(exact);
  return whole + (static_cast<double>(whole) < exact ? 1 : 0);
}

// mask[i] = 1 if element i is kept, otherwise 0; out[i] = mask[i] ? x[i] *
// scale : 0.
template <typename T>
SLUICE_API void Dropout(const RandomStream& stream,
                        uint64_t threshold,
                        T scale,
                        int64_t count,
                        const T* x,
                        T* out,
                        uint8_t* mask);

// x_grad[i] = mask[i] ? out_grad[i] * scale : 0.
template <typename T>
SLUICE_API void DropoutGrad(
    T scale, int64_t count, const T* out_grad, const uint8_t* mask, T* x_grad);

}  // namespace sluice
