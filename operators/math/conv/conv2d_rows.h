#pragma once

#include <cstddef>
#include <vector>

#include "sluice/operators/math/conv/conv2d_geometry.h"
#include "sluice/platform/export.h"

// 2-d convolution with a vector of neighbouring outputs of one row and a few
// filters in registers while all elements of the patches pass by: no patch is
// laid out. Where there is padding or a stride, a band of rows is first copied
// with it.
namespace sluice::operators::math {

// How it is cut; depends on the geometry and the vectors only, and so do the
// bits.
struct Conv2dRowsPlan {
  Conv2dGeometry g;
  int64_t slots = 1;           // threads that work at a time
  int64_t bands = 1;           // of the rows of an output plane
  bool copies = false;         // a band of the input, into scratch
  int64_t row = 0, plane = 0;  // strides of what is read
  std::vector<int64_t> taps;   // where a window's elements of a plane are
  int64_t copy = 0;            // elements of scratch for each slot

  size_t scratch_bytes(size_t element) const {
    return static_cast<size_t>(slots * copy) * element;
  }
};

// The elements of a vector on this machine; `element` is sizeof(T).
SLUICE_API int64_t Conv2dRowsLanes(size_t element);

// Whether it takes this geometry: NCHW, and rows of the output that fill a
// vector.
inline bool FitsConv2dRows(const Conv2dGeometry& g, size_t element) {
  return !g.nhwc && g.out_w >= Conv2dRowsLanes(element);
}

SLUICE_API Conv2dRowsPlan PlanConv2dRows(const Conv2dGeometry& g,
                                         size_t element,
                                         int num_threads);

// output = bias (nullptr: 0) + the convolution of input and filter. Through
// ParallelFor. T is float or double.
template <typename T>
SLUICE_API void Conv2dRows(const Conv2dRowsPlan& plan,
                           const T* input,
                           const T* filter,
                           const T* bias,
                           T* output,
                           void* scratch);

}  // namespace sluice::operators::math
