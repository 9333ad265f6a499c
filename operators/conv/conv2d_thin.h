#pragma once

#include <cstddef>

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/platform/export.h"

// The gradient of the filter for an input of few channels, channels last, such
// as a network's first convolution. It keeps sums in registers while it reads
// the output's pixels, and stores no patches.
namespace sluice {

// How it is split. The plan and the bits depend on the geometry only.
struct Conv2dThinPlan {
  Conv2dGeometry g;
  int64_t parts = 1;  // of the images, with separate sums in scratch

  size_t scratch_bytes(size_t element) const {
    return static_cast<size_t>(parts * g.filter_size()) * element;
  }
};

// Whether the geometry is supported: NHWC, one group, no dilation.
inline bool FitsConv2dThin(const Conv2dGeometry& g) {
  return g.nhwc && g.groups == 1 && g.dilation_h == 1 && g.dilation_w == 1;
}

SLUICE_API Conv2dThinPlan PlanConv2dThin(const Conv2dGeometry& g);

}  // namespace sluice
