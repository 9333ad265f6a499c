#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

// out[c] = the sum of channel c of x, which has `n` images of `pixels` pixels:
// [n, channels, pixels], or [n, pixels, channels] if `channels_last`. Sums are
// in double, in an order that does not depend on the number of threads. An
// empty sum is 0. T is float or double.
template <typename T>
SLUICE_API void ChannelSum(const T* x,
                           int64_t n,
                           int64_t channels,
                           int64_t pixels,
                           bool channels_last,
                           T* out);

}  // namespace sluice
