#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

// A search in each line of a dense tensor [outer, size, inner]; lines extend
// along `size`.
struct ArgBestPlan {
  int64_t outer = 1, size = 1, inner = 1;
  bool largest = true;
  bool last = false;  // the last of equal elements
};

// Writes to out [outer, inner] the index of the largest, or smallest, element
// of each line. Runs in host memory through ParallelFor. size is at least 1.
// NaN is better than every number; 0 and -0 are equal. T: every dtype but bool.
template <typename T>
SLUICE_API void ArgBest(const ArgBestPlan& plan, const T* x, int64_t* out);

}  // namespace sluice
