#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/framework/values/ddim.h"
#include "sluice/operators/math/reduction/reduce_axes.h"
#include "sluice/platform/export.h"

namespace sluice {

// A plan to sum a dense tensor over some of its dimensions.
struct ReducePlan {
  ReduceAxes axes;
  // Threads share rows, as there are too few columns.
  bool share_rows = false;

  // Sums of floats are divided by this before rounding: the number of elements
  // for a mean, -1 for a negated sum.
  double divisor = 1;

  // The size of ReduceSum's `scratch`.
  size_t scratch_bytes = 0;
};

// Sums over the axes with summed[axis] set. `x` must be known.
SLUICE_API ReducePlan
PlanReduce(const DDim& x, const std::array<bool, DDim::kMaxRank>& summed);

// Writes the sums in the order of the kept dimensions, through ParallelFor; an
// empty sum is 0 / divisor. float, float16 and bfloat16 are summed in double,
// double with compensation between blocks of 128 elements, integers modulo
// 2^64. The order does not depend on the number of threads. T is any dtype that
// reduce_sum accepts.
template <typename T>
SLUICE_API void ReduceSum(const ReducePlan& plan,
                          const T* x,
                          T* out,
                          void* scratch);

}  // namespace sluice
