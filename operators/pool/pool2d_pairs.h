#pragma once

#include "sluice/operators/pool/pool2d.h"

// The pooling that most networks use, vectorized: maxima of 2 x 2 pixels
// without overlap and padding. The bits equal those of Pool2d and Pool2dGrad.
namespace sluice {

// Whether a geometry is 2 x 2 max pooling without overlap and padding.
inline bool IsMaxOfPairs(const Pool2dGeometry& g) {
  return g.max && g.kernel_h == 2 && g.kernel_w == 2 && g.stride_h == 2 &&
         g.stride_w == 2 && g.pad_top == 0 && g.pad_left == 0 &&
         2 * g.out_h <= g.in_h && 2 * g.out_w <= g.in_w;
}

// T: float or double.
template <typename T>
void MaxOfPairs(const Pool2dGeometry& g, const T* x, T* out);
template <typename T>
void MaxOfPairsGrad(const Pool2dGeometry& g,
                    const T* x,
                    const T* out,
                    const T* out_grad,
                    T* x_grad);

}  // namespace sluice
