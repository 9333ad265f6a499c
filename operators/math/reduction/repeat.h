#pragma once

#include "sluice/operators/math/broadcast.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// Repeats y to the common shape of `plan`, which has elements, on ParallelFor:
// what is x of the plan gives the shape only. T is a float.
template <typename T>
SLUICE_API void Repeat(const BroadcastPlan& plan, const T* y, T* out);

}  // namespace sluice::operators::math
