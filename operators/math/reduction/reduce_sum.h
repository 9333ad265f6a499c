#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/framework/values/ddim.h"
#include "sluice/operators/math/reduction/reduce_axes.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// How to sum a dense tensor over some of its dimensions.
struct ReducePlan {
  ReduceAxes axes;
  // Threads share the rows of the columns that are summed: there are few.
  bool share_rows = false;

  // What the sums of floats are divided by before they are rounded: set it to
  // the number of elements for a mean, to -1 for the negative sum.
  double divisor = 1;

  // For ReduceSum's `scratch`.
  size_t scratch_bytes = 0;
};

// Sums over the axes with summed[axis] set. `x` is known.
SLUICE_API ReducePlan
PlanReduce(const framework::DDim& x,
           const std::array<bool, framework::DDim::kMaxRank>& summed);

// Writes the sums, in the order of the kept dimensions, through ParallelFor;
// 0 / divisor where there is nothing to sum. float, float16 and bfloat16 are
// summed in double, double with compensation between blocks of 128 elements,
// integers modulo 2^64. The order does not depend on the number of threads. T
// is any dtype that reduce_sum takes.
template <typename T>
SLUICE_API void ReduceSum(const ReducePlan& plan,
                          const T* x,
                          T* out,
                          void* scratch);

}  // namespace sluice::operators::math
