#pragma once

#include "sluice/operators/math/conv/conv2d_geometry.h"
#include "sluice/platform/export.h"

// A convolution is computed for one tile of the output after another, so that
// what belongs to a tile stays in the cache.
namespace sluice::operators::math {

// Whole images, or whole rows of windows of one image, or a piece of one row:
// always windows that follow one another in the output.
struct Conv2dTile {
  int64_t image = 0, images = 1;
  int64_t row = 0, rows = 1;
  int64_t column = 0, columns = 1;

  int64_t pixels() const { return rows * columns; }  // of each image
  int64_t windows() const { return images * pixels(); }
};

// Tiles of a size that depends on the geometry only. Number t covers images
// [t / per_image * images, ...); where there are several tiles an image,
// `images` is 1.
struct Conv2dTiling {
  int64_t images = 1, rows = 1, columns = 1;  // of a tile, the last are smaller
  int64_t per_row = 1, per_image = 1;
  int64_t count = 0;

  int64_t windows() const { return images * rows * columns; }
};

// Tiles of at most `windows` windows, which is 1 or more.
SLUICE_API Conv2dTiling TileConv2d(const Conv2dGeometry& g, int64_t windows);
SLUICE_API Conv2dTile TileAt(const Conv2dGeometry& g,
                             const Conv2dTiling& tiling,
                             int64_t number);

}  // namespace sluice::operators::math
