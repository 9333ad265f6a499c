#pragma once

#include "sluice/operators/conv/conv2d_winograd.h"

// The parts of Conv2dWinograd that are compiled for each instruction set. Tile
// t of a block is tile `first` + t of the convolution; tiles are numbered by
// image, then by row. Transformed pixels are [points][tiles of a
// block][in_row], with in_point() between points. Transformed outputs use
// out_row and out_point().
namespace sluice {

// The position of a tile of the plan.
struct WinogradTile {
  WinogradTile(const Conv2dWinogradPlan& plan, int64_t tile)
      : image(tile / (plan.tiles_h * plan.tiles_w)),
        row(tile / plan.tiles_w % plan.tiles_h * plan.m),
        column(tile % plan.tiles_w * plan.m) {}
  int64_t image, row, column;  // of its first output
};

// Transforms the filters of one panel (panels.h).
void PackWinogradPanel(const Conv2dWinogradPlan& plan,
                       const float* filter,
                       const double* factors,
                       int64_t panel,
                       float* packed);

// Transforms the pixels of tiles [begin, end) of the block.
void WinogradPixels(const Conv2dWinogradPlan& plan,
                    const float* input,
                    int64_t first,
                    int64_t begin,
                    int64_t end,
                    float* pixels);

// Transforms the products of tile `t` of the block to its outputs. Returns
// false if an output is not finite.
bool WinogradOutputs(const Conv2dWinogradPlan& plan,
                     const float* products,
                     const float* bias,
                     int64_t first,
                     int64_t t,
                     float* output);

}  // namespace sluice
