#pragma once

#include <cstdint>

#include "sluice/operators/math/broadcast.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// Sums over raw memory on the CPU, through ParallelFor. T is any dtype but
// bool; integers wrap around, float16 and bfloat16 round each sum once. `out`
// may be x or y themselves where these are not repeated.

// out[i] = x[i] + y[i].
template <typename T>
SLUICE_API void AddSame(const T* x, const T* y, int64_t count, T* out);

// The sum in the common shape of `plan`, which has elements.
template <typename T>
SLUICE_API void AddBroadcast(const BroadcastPlan& plan,
                             const T* x,
                             const T* y,
                             T* out);

}  // namespace sluice::operators::math
