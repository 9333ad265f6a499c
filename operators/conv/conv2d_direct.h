#pragma once

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/platform/export.h"

// 2-d convolution without a matrix product, plane by plane: for groups of few
// channels, whose matrices would be thin. Runs through ParallelFor; the bits do
// not depend on the number of threads. T is float or double.
namespace sluice {

// Returns the elements of memory that Conv2dDirect needs.
SLUICE_API int64_t Conv2dDirectScratch(const Conv2dGeometry& g);

// output = bias (nullptr: 0) + the convolution of input and filter.
template <typename T>
SLUICE_API void Conv2dDirect(const Conv2dGeometry& g,
                             const T* input,
                             const T* filter,
                             const T* bias,
                             T* output,
                             T* scratch);

// Computes the gradient of the whole input.
template <typename T>
SLUICE_API void Conv2dDirectGradInput(const Conv2dGeometry& g,
                                      const T* filter,
                                      const T* output_grad,
                                      T* input_grad);

// Computes the gradient of the whole filter.
template <typename T>
SLUICE_API void Conv2dDirectGradFilter(const Conv2dGeometry& g,
                                       const T* input,
                                       const T* output_grad,
                                       T* filter_grad);

}  // namespace sluice
