#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// Dimensions of a dense tensor that lie apart by `steps` elements, outermost
// first.
struct StridedAxes {
  int rank = 0;
  std::array<int64_t, framework::DDim::kMaxRank> sizes{};
  std::array<int64_t, framework::DDim::kMaxRank> steps{};

  int64_t count() const;
};

// How to sum a dense tensor over some of its dimensions. The innermost
// dimension, with the neighbours of its kind, is a row of consecutive elements;
// the rest is sorted into what is kept and what is summed over.
struct ReducePlan {
  StridedAxes kept;
  StridedAxes summed;
  bool row_summed = true;
  int64_t row_size = 1;
  int64_t outputs = 1;
  bool empty = false;  // nothing to sum: the rest is not filled in
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
// 0 where there is nothing to sum. float, float16 and bfloat16 are summed in
// double, double with compensation between blocks of 128 elements, integers
// modulo 2^64. The order does not depend on the number of threads. T is any
// dtype that reduce_sum takes.
template <typename T>
SLUICE_API void ReduceSum(const ReducePlan& plan,
                          const T* x,
                          T* out,
                          void* scratch);

}  // namespace sluice::operators::math
