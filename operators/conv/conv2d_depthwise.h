#pragma once

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/operators/math/chain/chain.h"

// Depthwise convolution with channels last: vectors hold neighbouring channels.
// Runs through ParallelFor; the bits do not depend on the number of threads. T:
// float or double.
namespace sluice {

// The maximum number of elements of a filter.
constexpr int64_t kDepthwiseTaps = 128;

// Whether a convolution is depthwise, with channels last and a small filter.
inline bool IsDepthwiseLast(const Conv2dGeometry& g) {
  return g.nhwc && g.groups == g.in_c && g.out_c == g.in_c &&
         g.kernel_h <= kDepthwiseTaps && g.kernel_w <= kDepthwiseTaps &&
         g.kernel_h * g.kernel_w <= kDepthwiseTaps;
}

// packed[tap][channel] = the filters times their factors (nullptr: 1).
template <typename T>
void PackDepthwise(const Conv2dGeometry& g,
                   const T* filter,
                   const double* factors,
                   T* packed);

// output = chain(bias (nullptr: 0) + the convolution of input and packed
// filters).
template <typename T>
void DepthwiseLast(const Conv2dGeometry& g,
                   const T* input,
                   const T* packed,
                   const T* bias,
                   const OutputChain<T>& chain,
                   T* output);

// These compute like the gradients of Conv2dDirect (conv2d_direct.h).
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
