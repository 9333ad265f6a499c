#pragma once

#include "sluice/operators/math/conv/conv2d_tiling.h"

// A convolution as a product of matrices: the patch of the input under each
// window is laid out as a row of a matrix, or as a column. The loops are in
// vectors, for float and double.
namespace sluice::operators::math {

// Whether patches are columns. One channel is the same in both layouts of the
// input, and columns of it are laid out faster.
inline bool WindowsLast(const Conv2dGeometry& g) {
  return !g.nhwc || g.in_c == 1;
}

// Lays out the patches of one group of channels, zeros where they reach out of
// the input: patches[c][kh][kw][window] where WindowsLast, else
// patches[window][kh][kw][c].
void Im2Col(const Conv2dGeometry& g,
            const Conv2dTile& tile,
            int64_t group,
            const float* input,
            float* patches);
void Im2Col(const Conv2dGeometry& g,
            const Conv2dTile& tile,
            int64_t group,
            const double* input,
            double* patches);

// The reverse: adds each element of the patches to its place in the input's
// gradient, in a fixed order.
void Col2Im(const Conv2dGeometry& g,
            const Conv2dTile& tile,
            int64_t group,
            const float* patches,
            float* input_grad);
void Col2Im(const Conv2dGeometry& g,
            const Conv2dTile& tile,
            int64_t group,
            const double* patches,
            double* input_grad);

}  // namespace sluice::operators::math
