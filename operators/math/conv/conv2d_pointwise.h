#pragma once

#include <cstdint>

#include "sluice/operators/math/chain/chain.h"
#include "sluice/operators/math/conv/conv2d_geometry.h"
#include "sluice/platform/export.h"

// 2-d convolution by filters of 1x1 where the channels are last: a product of
// the pixels, as they lie, with filters that are packed once (panels.h). What
// follows the convolution is applied to a block of outputs that is still in a
// cache.
namespace sluice::operators::math {

// How it is cut; the bits depend on the geometry and the vectors only.
struct Conv2dPointwisePlan {
  Conv2dGeometry g;
  // Pixels that lie at equal distances, as rows of a matrix: all of them, or a
  // row of outputs where there are strides.
  int64_t runs = 1, run = 0;
  int64_t blocks = 1;  // of the rows of a run
  int64_t parts = 1;   // of the panels of columns, of all groups

  // Panels of one group.
  SLUICE_API int64_t panels() const;
  // Floats of the packed filters.
  SLUICE_API int64_t packed_size() const;
};

// Whether it takes this geometry: NHWC, filters of 1x1, no padding.
SLUICE_API bool FitsConv2dPointwise(const Conv2dGeometry& g);

SLUICE_API Conv2dPointwisePlan
PlanConv2dPointwise(const Conv2dGeometry& geometry, int num_threads);

// packed[:packed_size()] = the filters, each times its factor (nullptr: 1).
SLUICE_API void PackPointwiseFilter(const Conv2dPointwisePlan& plan,
                                    const float* filter,
                                    const double* factors,
                                    float* packed);

// output = chain(bias (nullptr: 0) + the convolution of input and filter).
// Through ParallelFor.
SLUICE_API void Conv2dPointwise(const Conv2dPointwisePlan& plan,
                                const float* input,
                                const float* packed,
                                const float* bias,
                                const OutputChain<float>& chain,
                                float* output);

}  // namespace sluice::operators::math
