#pragma once

#include <cstddef>
#include <vector>

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/operators/math/work.h"
#include "sluice/platform/export.h"

// 2-d convolution that keeps a vector of neighbouring outputs of one row, for a
// few filters, in registers while it reads all elements of the patches. It
// stores no patches. With padding or strides, it first copies a band of rows
// with the padding.
namespace sluice {

// How it is tiled. The plan and the bits depend on the geometry and the vector
// size only.
struct Conv2dRowsPlan {
  Conv2dGeometry g;
  int64_t slots = 1;           // threads that work at once
  int64_t bands = 1;           // of the rows of an output plane
  bool copies = false;         // copies a band of the input to scratch
  int64_t row = 0, plane = 0;  // strides of the band or input
  std::vector<int64_t> taps;   // offsets of a window's elements in a plane
  int64_t copy = 0;            // elements of scratch per slot

  size_t scratch_bytes(size_t element) const {
    return static_cast<size_t>(slots * copy) * element;
  }
};

// Whether the geometry is supported: NCHW, and output rows that fill a vector.
inline bool FitsConv2dRows(const Conv2dGeometry& g, size_t element) {
  return !g.nhwc && g.out_w >= VectorLanes(element);
}

SLUICE_API Conv2dRowsPlan PlanConv2dRows(const Conv2dGeometry& g,
                                         size_t element,
                                         int num_threads);

}  // namespace sluice
