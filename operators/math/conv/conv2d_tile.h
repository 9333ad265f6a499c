#pragma once

#include <algorithm>

#include "sluice/operators/math/conv/im2col.h"
#include "sluice/operators/math/conv/lay_patches.h"
#include "sluice/operators/math/gemm.h"

namespace sluice {

// Returns the first input element of a tile and a group of channels, for
// pointwise convolutions.
template <typename T>
T* Conv2dInputAt(const Conv2dGeometry& g,
                 const Conv2dTile& tile,
                 int64_t group,
                 T* input) {
  const int64_t pixel = tile.row * g.in_w + tile.column;
  const int64_t channel = group * g.group_in_c();
  if (g.nhwc) {
    return input + (tile.image * g.in_pixels() + pixel) * g.in_c + channel;
  }
  return input + (tile.image * g.in_c + channel) * g.in_pixels() + pixel;
}

// Returns the first output element of a tile and a group of channels.
template <typename T>
T* Conv2dOutputAt(const Conv2dGeometry& g,
                  const Conv2dTile& tile,
                  int64_t group,
                  T* output) {
  const int64_t pixel = tile.row * g.out_w + tile.column;
  const int64_t channel = group * g.group_out_c();
  if (g.nhwc) {
    return output + (tile.image * g.out_pixels() + pixel) * g.out_c + channel;
  }
  return output + (tile.image * g.out_c + channel) * g.out_pixels() + pixel;
}

// Computes the matrix products for one tile and one group of channels. Used by
// one thread at a time; the caller owns the memory.
template <typename T>
class Conv2dTileWorker {
 public:
  // `filter` is in the order of the patches: OIHW, or OHWI for NHWC. `patches`
  // holds the input patches of a tile; a pointwise convolution does not need
  // it. `pixels` holds the output of a tile; only NCHW tiles of several images
  // need it. For GradInput, each group's input channels are split into `blocks`
  // blocks, and the filter is ordered within each block.
  Conv2dTileWorker(const Conv2dGeometry& g,
                   const T* filter,
                   T* patches,
                   T* pixels,
                   int64_t blocks = 1)
      : g_(g),
        split_(g),
        blocks_(blocks),
        filter_(filter),
        patches_(patches),
        pixels_(pixels) {
    split_.groups *= blocks;
  }

  // Sets the output's windows to bias (nullptr: 0) + the convolution.
  void Forward(const Conv2dTile& tile,
               int64_t group,
               const T* input,
               const T* bias,
               T* output) {
    const Matrix<const T> patches = Patches(tile, group, input);
    const int64_t windows = tile.windows();
    if (bias != nullptr) bias += group * g_.group_out_c();
    T* out = Conv2dOutputAt(g_, tile, group, output);
    if (g_.nhwc) {
      if (bias != nullptr) {
        FillRows(windows, g_.group_out_c(), g_.out_c, bias, out);
      }
      Gemm<T>({.transpose_a = patches.transposed,
               .transpose_b = true,
               .m = windows,
               .n = g_.group_out_c(),
               .k = g_.patch(),
               .a = patches.data,
               .lda = patches.stride,
               .b = FilterOf(group),
               .ldb = g_.patch(),
               .beta = bias != nullptr ? T{1} : T{0},
               .c = out,
               .ldc = g_.out_c});
      return;
    }
    const bool direct = tile.images == 1;
    if (direct && bias != nullptr) {
      FillPlanes(g_.group_out_c(), windows, g_.out_pixels(), bias, out);
    }
    Gemm<T>({.m = g_.group_out_c(),
             .n = windows,
             .k = g_.patch(),
             .a = FilterOf(group),
             .lda = g_.patch(),
             .b = patches.data,
             .ldb = patches.stride,
             .beta = direct && bias != nullptr ? T{1} : T{0},
             .c = direct ? out : pixels_,
             .ldc = direct ? g_.out_pixels() : windows});
    if (!direct) SpreadPixels(tile, bias, out);
  }

  // Sets blocks [first, first + count) of the input's gradient to the bias of
  // their channels (nullptr: 0), in all images of a tile.
  void ResetInputGrad(const Conv2dTile& tile,
                      int64_t first,
                      int64_t count,
                      const T* bias,
                      T* input_grad) const {
    const int64_t pixels = g_.in_pixels();
    const int64_t channel = first * split_.group_in_c();
    const int64_t channels = count * split_.group_in_c();
    T* to = input_grad + tile.image * g_.in_c * pixels;
    if (bias != nullptr) bias += channel;
    if (g_.nhwc) {
      FillRows(tile.images * pixels, channels, g_.in_c, bias, to + channel);
      return;
    }
    for (int64_t i = 0; i < tile.images; ++i) {
      FillPlanes(channels, pixels, pixels, bias,
                 to + (i * g_.in_c + channel) * pixels);
    }
  }

  // Adds to the input's gradient in one block of channels, numbered across
  // groups. If the convolution is pointwise or its patches tile the input
  // (`mosaic`), sets it to bias (nullptr: 0) plus the sum instead.
  void GradInput(const Conv2dTile& tile,
                 int64_t block,
                 bool mosaic,
                 const T* output_grad,
                 const T* bias,
                 T* input_grad) {
    if (bias != nullptr) bias += block * split_.group_in_c();
    if (g_.pointwise()) {
      T* to = Conv2dInputAt(split_, tile, block, input_grad);
      const int64_t windows = tile.windows(), channels = split_.group_in_c();
      if (bias != nullptr && g_.nhwc) {
        FillRows(windows, channels, g_.in_c, bias, to);
      } else if (bias != nullptr) {
        FillPlanes(channels, windows, g_.in_pixels(), bias, to);
      }
      return GradPatches(tile, block, output_grad, bias != nullptr,
                         g_.nhwc ? g_.in_c : g_.in_pixels(), to);
    }
    const bool columns = WindowsLast(split_);
    GradPatches(tile, block, output_grad, false,
                columns ? tile.windows() : split_.patch(), patches_);
    if (mosaic) {
      LayPatches(split_, tile, block, patches_, bias, input_grad);
    } else {
      Col2Im(split_, tile, block, patches_, input_grad);
    }
  }

  // partial (channels in patch order) = or, if `add`, += the tile's gradient.
  void GradFilter(const Conv2dTile& tile,
                  int64_t group,
                  const T* input,
                  const T* output_grad,
                  bool add,
                  T* partial) {
    const Matrix<const T> patches = Patches(tile, group, input);
    const Matrix<const T> grad = Pixels(tile, group, output_grad);
    Gemm<T>({.transpose_a = !grad.transposed,
             .transpose_b = patches.transposed,
             .m = g_.group_out_c(),
             .n = g_.patch(),
             .k = tile.windows(),
             .a = grad.data,
             .lda = grad.stride,
             .b = patches.data,
             .ldb = patches.stride,
             .beta = add ? T{1} : T{0},
             .c = partial + group * g_.group_out_c() * g_.patch(),
             .ldc = g_.patch()});
  }

 private:
  // A matrix with a row for each window; if transposed, windows are columns.
  template <typename E>
  struct Matrix {
    E* data;
    int64_t stride;
    bool transposed;
  };

  // patches = or, if `add`, += one block's transposed filter times the output's
  // gradient. Windows are columns if WindowsLast, otherwise rows, of `stride`.
  void GradPatches(const Conv2dTile& tile,
                   int64_t block,
                   const T* output_grad,
                   bool add,
                   int64_t stride,
                   T* patches) {
    const int64_t windows = tile.windows(), patch = split_.patch();
    const int64_t group = block / blocks_;
    const Matrix<const T> grad = Pixels(tile, group, output_grad);
    const T* filter = FilterOf(group) + block % blocks_ * patch;
    const T beta = add ? T{1} : T{0};
    const bool columns = g_.pointwise() ? !g_.nhwc : WindowsLast(split_);
    if (!columns) {
      Gemm<T>({.m = windows,
               .n = patch,
               .k = g_.group_out_c(),
               .a = grad.data,
               .lda = grad.stride,
               .b = filter,
               .ldb = g_.patch(),
               .beta = beta,
               .c = patches,
               .ldc = stride});
      return;
    }
    Gemm<T>({.transpose_a = true,
             .transpose_b = !grad.transposed,
             .m = patch,
             .n = windows,
             .k = g_.group_out_c(),
             .a = filter,
             .lda = g_.patch(),
             .b = grad.data,
             .ldb = grad.stride,
             .beta = beta,
             .c = patches,
             .ldc = stride});
  }

  const T* FilterOf(int64_t group) const {
    return filter_ + group * g_.group_out_c() * g_.patch();
  }

  Matrix<const T> Patches(const Conv2dTile& tile,
                          int64_t group,
                          const T* input) {
    if (g_.pointwise()) {
      return {Conv2dInputAt(g_, tile, group, input),
              g_.nhwc ? g_.in_c : g_.in_pixels(), !g_.nhwc};
    }
    Im2Col(g_, tile, group, input, patches_);
    const bool columns = WindowsLast(g_);
    return {patches_, columns ? tile.windows() : g_.patch(), columns};
  }

  // Returns one group of channels of a tile of the output's gradient.
  Matrix<const T> Pixels(const Conv2dTile& tile,
                         int64_t group,
                         const T* output_grad) {
    const T* from = Conv2dOutputAt(g_, tile, group, output_grad);
    if (g_.nhwc) return {from, g_.out_c, false};
    if (tile.images == 1) return {from, g_.out_pixels(), true};
    const int64_t pixels = g_.out_pixels();
    for (int64_t o = 0; o < g_.group_out_c(); ++o) {
      for (int64_t i = 0; i < tile.images; ++i) {
        const T* plane = from + (i * g_.out_c + o) * pixels;
        std::copy(plane, plane + pixels,
                  pixels_ + o * tile.windows() + i * pixels);
      }
    }
    return {pixels_, tile.windows(), true};
  }

  // Sets `rows` rows of `channels` elements to the bias (nullptr: 0); rows have
  // a stride of `stride` elements.
  static void FillRows(
      int64_t rows, int64_t channels, int64_t stride, const T* bias, T* out) {
    if (bias == nullptr && channels == stride) {
      std::fill(out, out + rows * channels, T{0});
      return;
    }
    if (channels < stride) {
      for (int64_t row = 0; row < rows; ++row) {
        T* to = out + row * stride;
        if (bias == nullptr) {
          std::fill(to, to + channels, T{0});
        } else {
          std::copy(bias, bias + channels, to);
        }
      }
      return;
    }
    std::copy(bias, bias + (rows > 0 ? channels : 0), out);
    for (int64_t done = 1; done < rows; done *= 2) {
      const int64_t more = std::min(done, rows - done);
      std::copy(out, out + more * channels, out + done * channels);
    }
  }
  // Sets the first `count` elements of each plane to its bias (nullptr: 0).
  static void FillPlanes(
      int64_t channels, int64_t count, int64_t stride, const T* bias, T* out) {
    for (int64_t c = 0; c < channels; ++c) {
      T* plane = out + c * stride;
      std::fill(plane, plane + count, bias == nullptr ? T{0} : bias[c]);
    }
  }
  // Copies the planes of several images from pixels_ and adds the bias.
  void SpreadPixels(const Conv2dTile& tile, const T* bias, T* out) const {
    const int64_t pixels = g_.out_pixels();
    for (int64_t i = 0; i < tile.images; ++i) {
      for (int64_t o = 0; o < g_.group_out_c(); ++o) {
        const T* from = pixels_ + o * tile.windows() + i * pixels;
        T* to = out + (i * g_.out_c + o) * pixels;
        const T add = bias != nullptr ? bias[o] : T{0};
        for (int64_t p = 0; p < pixels; ++p) {
          to[p] = from[p] + add;
        }
      }
    }
  }

  const Conv2dGeometry& g_;
  Conv2dGeometry split_;  // with blocks as groups; input only
  int64_t blocks_;
  const T* filter_;
  T* patches_;
  T* pixels_;
};

}  // namespace sluice
