#pragma once

#include "sluice/operators/math/broadcast.h"
#include "sluice/platform/export.h"

namespace sluice {

// Broadcasts y to the common shape of `plan`, which is not empty, through
// ParallelFor. The plan's x only defines the shape. T is a float.
template <typename T>
SLUICE_API void Repeat(const BroadcastPlan& plan, const T* y, T* out);

}  // namespace sluice
