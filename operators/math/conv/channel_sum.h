#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice::operators::math {

// out[c] = the sum of channel c of x, which has `n` images of `pixels` pixels:
// [n, channels, pixels], or [n, pixels, channels] where `channels_last`. Added
// up in double, in an order that does not depend on the number of threads; 0
// where there is nothing to add. T is float or double.
template <typename T>
SLUICE_API void ChannelSum(const T* x,
                           int64_t n,
                           int64_t channels,
                           int64_t pixels,
                           bool channels_last,
                           T* out);

}  // namespace sluice::operators::math
