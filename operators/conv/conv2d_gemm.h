#pragma once

#include <cstddef>

#include "sluice/operators/conv/im2col.h"
#include "sluice/platform/export.h"

// 2-d convolution by im2col and Gemm, one tile of windows after another. Runs
// through ParallelFor. Tiles and sums depend on the geometry only, so that the
// bits do not depend on the number of threads. T is float or double.
namespace sluice {

// How a convolution in one direction is tiled; made once for each geometry.
struct Conv2dGemmPlan {
  Conv2dGeometry g;
  Conv2dTiling tiling;
  // The threads that work at once, and the partial sums over all tiles.
  int64_t slots = 1, parts = 1;
  // For the input's gradient: each group's input channels form `blocks` of
  // equal size, and all blocks form `chunks` for threads to share.
  int64_t blocks = 1, chunks = 1;
  // For the input's gradient: each element is in exactly one window, so that
  // patches are stored without addition.
  bool once = false;
  // Elements of scratch: the packed filter, a partial filter gradient and, for
  // each slot, the patches and the output pixels of a tile.
  int64_t filter = 0, partial = 0, patches = 0, pixels = 0;

  size_t scratch_bytes(size_t element) const {
    const int64_t slot = patches + pixels;
    return static_cast<size_t>(filter + parts * partial + slots * slot) *
           element;
  }
};

enum class Conv2dDirection { kForward, kGradInput, kGradFilter };

// `element` is sizeof(T).
SLUICE_API Conv2dGemmPlan PlanConv2dGemm(const Conv2dGeometry& g,
                                         Conv2dDirection direction,
                                         size_t element,
                                         int num_threads);

// output = bias (nullptr: 0) + the convolution of input and filter.
template <typename T>
SLUICE_API void Conv2dGemm(const Conv2dGemmPlan& plan,
                           const T* input,
                           const T* filter,
                           const T* bias,
                           T* output,
                           void* scratch);

// input_grad = bias of its channel (nullptr: 0) + the gradient of the whole
// input. This also computes a transposed convolution: output_grad is then its
// input, and bias its bias [in_c].
template <typename T>
SLUICE_API void Conv2dGemmGradInput(const Conv2dGemmPlan& plan,
                                    const T* filter,
                                    const T* output_grad,
                                    const T* bias,
                                    T* input_grad,
                                    void* scratch);

// Computes the gradient of the whole filter.
template <typename T>
SLUICE_API void Conv2dGemmGradFilter(const Conv2dGemmPlan& plan,
                                     const T* input,
                                     const T* output_grad,
                                     T* filter_grad,
                                     void* scratch);

}  // namespace sluice
