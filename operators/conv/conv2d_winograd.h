#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/operators/math/chain/chain.h"
#include "sluice/platform/export.h"

// 2-d convolution by 3x3 filters with fewer multiplications: Winograd's
// F(m x m, 3 x 3). A tile of (m + 2) x (m + 2) pixels results in m x m outputs.
// After a linear transform, each of its (m + 2)^2 points is one matrix product
// of [tiles, in_c] and [in_c, out_c]. That takes 16 multiplications for 4
// outputs instead of 36, or 36 for 16 instead of 144.
// (Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR
// 2016.)
//
// F(4 x 4) interpolates at 0, 3/4, -3/4, 3/2, -3/2 and infinity, not at 0, 1,
// -1, 2, -2: rounding errors are a quarter as large, and all coefficients for
// images are exact. Errors are relative to the largest pixels of the tile. A
// tile whose outputs are not all finite is recomputed as direct sums, so that
// NaN and infinity affect only the windows that contain them.
namespace sluice {

// How it is tiled. The bits depend on the geometry and the vector size only.
struct Conv2dWinogradPlan {
  Conv2dGeometry g;
  int64_t m = 4;  // outputs per tile and direction: 2 or 4
  int64_t tiles_h = 0, tiles_w = 0;
  int64_t block = 1;  // tiles that are computed together
  // The threads that work at once, each on its own blocks. If it is 1, all
  // threads share each block.
  int64_t slots = 1;
  int64_t in_row = 0, out_row = 0;  // padded channels per tile and point

  int64_t edge() const { return m + 2; }
  int64_t points() const { return edge() * edge(); }
  int64_t tiles() const { return g.n * tiles_h * tiles_w; }
  // Floats between points. This is no multiple of a page, so that points map to
  // different cache sets.
  int64_t in_point() const { return block * in_row + 16; }
  int64_t out_point() const { return block * out_row + 16; }
  // The floats of the transformed filters.
  SLUICE_API int64_t packed_size() const;
  size_t scratch_bytes() const {
    return static_cast<size_t>(slots * points() * (in_point() + out_point())) *
           sizeof(float);
  }
};

// Whether the geometry is supported: NHWC, 3x3 filters, without strides,
// dilations or groups.
SLUICE_API bool FitsConv2dWinograd(const Conv2dGeometry& g);

// `m` is 2 or 4.
SLUICE_API Conv2dWinogradPlan PlanConv2dWinograd(const Conv2dGeometry& geometry,
                                                 int64_t m,
                                                 int num_threads);

// packed[:packed_size()] = the transform of the filters times their factors
// (nullptr: 1).
SLUICE_API void PackWinogradFilter(const Conv2dWinogradPlan& plan,
                                   const float* filter,
                                   const double* factors,
                                   float* packed);

// output = chain(bias (nullptr: 0) + the convolution of input and filter). Runs
// through ParallelFor.
SLUICE_API void Conv2dWinograd(const Conv2dWinogradPlan& plan,
                               const float* input,
                               const PackedFilter& filter,
                               const float* bias,
                               const OutputChain<float>& chain,
                               float* output,
                               void* scratch);

}  // namespace sluice
