#include "sluice/operators/math/conv/conv2d_tiling.h"

#include <algorithm>

namespace sluice {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Returns the part size if `size` is split into equal parts of at most `limit`.
int64_t EqualPart(int64_t size, int64_t limit) {
  return size <= limit ? size : CeilDiv(size, CeilDiv(size, limit));
}

}  // namespace

Conv2dTiling TileConv2d(const Conv2dGeometry& g, int64_t windows) {
  Conv2dTiling tiling;
  tiling.columns = EqualPart(g.out_w, windows);
  if (tiling.columns == g.out_w) {
    tiling.rows = EqualPart(g.out_h, std::max<int64_t>(windows / g.out_w, 1));
  }
  if (tiling.columns == g.out_w && tiling.rows == g.out_h) {
    tiling.images =
        EqualPart(g.n, std::max<int64_t>(windows / g.out_pixels(), 1));
  }
  tiling.images = std::max<int64_t>(tiling.images, 1);
  tiling.per_row = CeilDiv(g.out_w, tiling.columns);
  tiling.per_image = tiling.per_row * CeilDiv(g.out_h, tiling.rows);
  tiling.count = CeilDiv(g.n, tiling.images) * tiling.per_image;
  return tiling;
}

Conv2dTile TileAt(const Conv2dGeometry& g,
                  const Conv2dTiling& tiling,
                  int64_t number) {
  Conv2dTile tile;
  const int64_t in_image = number % tiling.per_image;
  tile.image = number / tiling.per_image * tiling.images;
  tile.row = in_image / tiling.per_row * tiling.rows;
  tile.column = in_image % tiling.per_row * tiling.columns;
  tile.images = std::min(tiling.images, g.n - tile.image);
  tile.rows = std::min(tiling.rows, g.out_h - tile.row);
  tile.columns = std::min(tiling.columns, g.out_w - tile.column);
  return tile;
}

}  // namespace sluice
