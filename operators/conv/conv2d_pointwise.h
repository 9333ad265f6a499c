#pragma once

#include <cstdint>

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/operators/math/chain/chain.h"
#include "sluice/platform/export.h"

// 2-d convolution with 1x1 filters and channels last. It multiplies the pixels,
// without copies, by filters that are packed once (panels.h). The chain after
// the convolution is applied to blocks of outputs that are still in a cache.
namespace sluice {

// How it is tiled. The bits depend on the geometry and the vector size only.
struct Conv2dPointwisePlan {
  Conv2dGeometry g;
  // A run of pixels with a constant stride forms the rows of a matrix: all
  // pixels, or with strides those of a row of outputs.
  int64_t runs = 1, run = 0;
  int64_t blocks = 1;  // per run of rows
  int64_t parts = 1;   // of the column panels of all groups

  // The panels of one group.
  SLUICE_API int64_t panels() const;
  // The floats of the packed filters.
  SLUICE_API int64_t packed_size() const;
};

// Whether the geometry is supported: NHWC, 1x1 filters, no padding.
SLUICE_API bool FitsConv2dPointwise(const Conv2dGeometry& g);

SLUICE_API Conv2dPointwisePlan
PlanConv2dPointwise(const Conv2dGeometry& geometry, int num_threads);

// packed[:packed_size()] = the filters times their factors (nullptr: 1).
SLUICE_API void PackPointwiseFilter(const Conv2dPointwisePlan& plan,
                                    const float* filter,
                                    const double* factors,
                                    float* packed);

// output = chain(bias (nullptr: 0) + the convolution of input and filter). Runs
// through ParallelFor.
SLUICE_API void Conv2dPointwise(const Conv2dPointwisePlan& plan,
                                const float* input,
                                const float* packed,
                                const float* bias,
                                const OutputChain<float>& chain,
                                float* output);

}  // namespace sluice
