#pragma once

#include <cstdint>

#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/elementwise.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// Arithmetic over raw memory on the CPU, through ParallelFor. T is any dtype
// but bool, for kDiv a float; integers wrap around, float16 and bfloat16 round
// each result once. `out` may be x or y themselves where these are not
// repeated.

// out[i] = x[i] op y[i].
template <typename T>
SLUICE_API void BinarySame(
    BinaryOp op, const T* x, const T* y, int64_t count, T* out);

// The result in the common shape of `plan`, which has elements.
template <typename T>
SLUICE_API void BinaryBroadcast(
    BinaryOp op, const BroadcastPlan& plan, const T* x, const T* y, T* out);

}  // namespace sluice::operators::math
