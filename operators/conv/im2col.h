#pragma once

#include "sluice/operators/conv/conv2d_geometry.h"
#include "sluice/platform/export.h"

// Convolution as a matrix product: the input patch under each window becomes a
// row or a column of a matrix. It is computed one tile of the output after
// another, so that the data of a tile stays in a cache. The loops are
// vectorized for float and double.
namespace sluice {

// Consecutive windows of the output: whole images, whole rows of one image, or
// a piece of one row.
struct Conv2dTile {
  int64_t image = 0, images = 1;
  int64_t row = 0, rows = 1;
  int64_t column = 0, columns = 1;

  int64_t pixels() const { return rows * columns; }  // per image
  int64_t windows() const { return images * pixels(); }
};

// Tiles whose size depends on the geometry only. Tile t begins at image t /
// per_image * images. If an image has several tiles, `images` is 1.
struct Conv2dTiling {
  int64_t images = 1, rows = 1, columns = 1;  // the last tiles are smaller
  int64_t per_row = 1, per_image = 1;
  int64_t count = 0;

  int64_t windows() const { return images * rows * columns; }
};

// Returns tiles of at most `windows` windows, which is 1 or more.
SLUICE_API Conv2dTiling TileConv2d(const Conv2dGeometry& g, int64_t windows);
SLUICE_API Conv2dTile TileAt(const Conv2dGeometry& g,
                             const Conv2dTiling& tiling,
                             int64_t number);

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
