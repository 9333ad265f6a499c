#pragma once

#include "sluice/operators/math/conv/conv2d_tiling.h"

// Convolution as a matrix product: the input patch under each window becomes a
// row or a column of a matrix. The loops are vectorized for float and double.
namespace sluice {

// Whether patches are columns. With one channel both layouts of the input are
// the same, and columns are faster to write.
inline bool WindowsLast(const Conv2dGeometry& g) {
  return !g.nhwc || g.in_c == 1;
}

// Writes the patches of one group of channels, with zeros outside of the input:
// patches[c][kh][kw][window] if WindowsLast, otherwise
// patches[window][kh][kw][c].
template <typename T>
void Im2Col(const Conv2dGeometry& g,
            const Conv2dTile& tile,
            int64_t group,
            const T* input,
            T* patches);

// The reverse of Im2Col: adds the elements of the patches to the input's
// gradient, in a fixed order.
template <typename T>
void Col2Im(const Conv2dGeometry& g,
            const Conv2dTile& tile,
            int64_t group,
            const T* patches,
            T* input_grad);

// The reverse of Im2Col if windows cover the input exactly: channels first, no
// padding, kernels as large as strides. Each input element is then in one
// patch. Sets the pixels of one group of channels of a tile to
// patches[c][kh][kw][window] + bias[c] (nullptr: 0). Vectorized; runs on the
// calling thread.
template <typename T>
void LayPatches(const Conv2dGeometry& g,
                const Conv2dTile& tile,
                int64_t group,
                const T* patches,
                const T* bias,
                T* input);

}  // namespace sluice
