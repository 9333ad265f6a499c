#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Local response normalization across channels through ParallelFor. The bits do
// not depend on the number of threads. T: float, double.
namespace sluice {

// `rows` rows of channels x step elements. `step` is the number of pixels if
// channels come first, and 1 if they come last. The window of channel c is [c -
// before, c + after], clipped to the channels.
struct LrnGeometry {
  int64_t rows = 0, channels = 0, step = 1;
  int64_t before = 0, after = 0;
  double k = 1, scale = 0, beta = 0;

  LrnGeometry() = default;
  // Windows have `n` channels, clipped to the number of channels.
  LrnGeometry(int64_t rows, int64_t channels, int64_t step, int64_t n)
      : rows(rows),
        channels(channels),
        step(step),
        before(Cut((n - 1) / 2)),
        after(Cut(n / 2)) {}

  int64_t row() const { return channels * step; }

  // The elements that are computed at a time. The buffers for them and their
  // inputs fit into the first-level cache.
  static constexpr int64_t kBlock = 512;

 private:
  int64_t Cut(int64_t reach) const {
    return reach < channels ? reach : channels;
  }
};

// out = x * s^-beta with s = k + scale * the sum of x^2 over the window.
template <typename T>
SLUICE_API void Lrn(const LrnGeometry& g, const T* x, T* out);

// x_grad = out_grad * s^-beta - 2 * scale * beta * x * the sum over all windows
// that contain x of out_grad * x * s^(-beta - 1). `terms` is memory for as many
// elements as x has.
template <typename T>
SLUICE_API void LrnGrad(
    const LrnGeometry& g, const T* x, const T* out_grad, T* terms, T* x_grad);

}  // namespace sluice
