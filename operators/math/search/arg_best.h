#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice::operators::math {

// What to look for in the lines of a dense tensor [outer, size, inner], which
// run along `size`.
struct ArgBestPlan {
  int64_t outer = 1, size = 1, inner = 1;
  bool largest = true;
  bool last = false;  // of equal elements
};

// The index in its line of the largest, or smallest, element of each, to out
// [outer, inner], on ParallelFor; in host memory. size is at least 1. NaN is
// better than every number, 0 and -0 are equal. T: every dtype but bool.
template <typename T>
SLUICE_API void ArgBest(const ArgBestPlan& plan, const T* x, int64_t* out);

}  // namespace sluice::operators::math
