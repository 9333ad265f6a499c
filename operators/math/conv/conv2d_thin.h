#pragma once

#include <cstddef>

#include "sluice/operators/math/conv/conv2d_geometry.h"
#include "sluice/platform/export.h"

// The gradient of the filter where the input has few channels, all of them
// last, as the first convolution of a network does: sums stay in registers
// while pixels of the output pass by, and no patch is laid out.
namespace sluice::operators::math {

// How it is cut; depends on the geometry only, and so do the bits.
struct Conv2dThinPlan {
  Conv2dGeometry g;
  int64_t parts = 1;  // of the images; each has sums of its own in scratch

  size_t scratch_bytes(size_t element) const {
    return static_cast<size_t>(parts * g.filter_size()) * element;
  }
};

// Whether it takes this geometry: NHWC, one group, no dilation.
inline bool FitsConv2dThin(const Conv2dGeometry& g) {
  return g.nhwc && g.groups == 1 && g.dilation_h == 1 && g.dilation_w == 1;
}

SLUICE_API Conv2dThinPlan PlanConv2dThin(const Conv2dGeometry& g);

// filter_grad, all of it. Through ParallelFor. T: float or double.
template <typename T>
SLUICE_API void Conv2dThinGradFilter(const Conv2dThinPlan& plan,
                                     const T* input,
                                     const T* output_grad,
                                     T* filter_grad,
                                     void* scratch);

}  // namespace sluice::operators::math
