#pragma once

#include <cstddef>

#include "sluice/operators/math/conv/conv2d_rows.h"

namespace sluice {

// Output rows of one image and one group. `input` is the start of the window at
// column 0 of the first row, in the group's first channel. `output` is the
// output of that window for the group's first filter.
template <typename T>
struct RowsBand {
  const Conv2dRowsPlan& plan;
  const T* input;
  const T* filter;  // the group's
  const T* bias;    // the group's, or nullptr
  T* output;
  int64_t rows;
};

// Computes the band on the calling thread, with the best instruction set of the
// CPU. T is float or double.
template <typename T>
void RunRowsBand(const RowsBand<T>& band);

}  // namespace sluice
