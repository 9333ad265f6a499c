#pragma once

#include <cstddef>

#include "sluice/operators/math/conv/conv2d_rows.h"

namespace sluice::operators::math {

// Rows of one image's output for one group. `input` is where the window of the
// first row, column 0 begins in the group's first channel, `output` that window
// of the group's first filter.
template <typename T>
struct RowsBand {
  const Conv2dRowsPlan& plan;
  const T* input;
  const T* filter;  // of the group
  const T* bias;    // of the group, or nullptr
  T* output;
  int64_t rows;
};

// Computes it on the calling thread, with the best instruction set that the CPU
// has. T is float or double.
template <typename T>
void RunRowsBand(const RowsBand<T>& band);

}  // namespace sluice::operators::math
