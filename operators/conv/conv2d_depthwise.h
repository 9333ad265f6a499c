#pragma once

#include "sluice/operators/conv/conv2d_geometry.h"

// Depthwise convolution with channels last: vectors hold neighbouring channels.
// Runs through ParallelFor; the bits do not depend on the number of threads. T:
// float or double.
namespace sluice {

// Whether a convolution is depthwise, with channels last and a small filter.
inline bool IsDepthwiseLast(const Conv2dGeometry& g) {
  constexpr int64_t kMaxTaps = 128;
  return g.nhwc && g.groups == g.in_c && g.out_c == g.in_c &&
         g.kernel_h <= kMaxTaps && g.kernel_w <= kMaxTaps &&
         g.kernel_h * g.kernel_w <= kMaxTaps;
}

// These compute like Conv2dDirect and its gradients (conv2d_direct.h). `packed`
// has room for the filters.
template <typename T>
void DepthwiseLast(const Conv2dGeometry& g,
                   const T* input,
                   const T* filter,
                   const T* bias,
                   T* output,
                   T* packed);
template <typename T>
void DepthwiseLastGradInput(const Conv2dGeometry& g,
                            const T* filter,
                            const T* output_grad,
                            T* input_grad);
template <typename T>
void DepthwiseLastGradFilter(const Conv2dGeometry& g,
                             const T* input,
                             const T* output_grad,
                             T* filter_grad);

}  // namespace sluice
