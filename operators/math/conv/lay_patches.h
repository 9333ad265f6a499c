#pragma once

#include "sluice/operators/math/conv/conv2d_tiling.h"

namespace sluice {

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
