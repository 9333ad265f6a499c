#pragma once

#include "sluice/operators/math/conv/conv2d_geometry.h"
#include "sluice/platform/export.h"

// A convolution is computed one tile of the output after another, so that the
// data of a tile stays in a cache.
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

}  // namespace sluice
