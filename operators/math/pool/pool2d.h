#pragma once

#include <cstdint>
#include <type_traits>

#include "sluice/platform/export.h"

namespace sluice::operators::math {

// The sizes of 2-d pooling: windows over the pixels of each channel of x,
// [n, c, in_h, in_w], or channels last where `nhwc`. Window (oh, ow) covers
// rows from oh * stride_h - pad_top on, cut where they leave the input; each
// window meets at least one pixel.
struct Pool2dGeometry {
  int64_t n = 0, c = 0;
  int64_t in_h = 0, in_w = 0;
  int64_t out_h = 0, out_w = 0;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  // pad_bottom and pad_right are what the windows reach past the end, which
  // with ceil_mode is more than the attribute says, and may be negative where
  // the last pixels are in no window.
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  bool nhwc = false;
  bool max = true;
  // Averages: divide by the pixels that a window meets; else by those of the
  // padding as well, which ends before these. What a window of ceil_mode
  // reaches past it does not count, as in PyTorch and ONNX.
  bool exclusive = true;
  int64_t end_h = 0, end_w = 0;
  // The pixels are those of relu(x), which nobody has made.
  bool relu = false;

  // The last windows reach past the padding.
  bool overhangs() const {
    return in_h + pad_bottom > end_h || in_w + pad_right > end_w;
  }
  int64_t in_pixels() const { return in_h * in_w; }
  int64_t out_pixels() const { return out_h * out_w; }
};

// out = the maximum (NaN wins over every number) or average of each window.
// Through ParallelFor. T: any float dtype; averages of 16-bit ones are summed
// in float, those of more than 64 pixels in double, and no sum overflows where
// the average does not. With `relu` the same bits as after a relu of its own.
template <typename T>
SLUICE_API void Pool2d(const Pool2dGeometry& g, const T* x, T* out);

// What gradients of T are added up in.
template <typename T>
using PoolGrad = std::conditional_t<sizeof(T) == 2, float, T>;

// x_grad, all of it: each element of out_grad goes to the first pixel of its
// window, row by row, that holds the maximum `out`, or evenly to those that the
// average was taken of. `x` and `out` may be null for averages. Where windows
// overlap, their gradients are added in a fixed order. With `relu`, x_grad is
// the gradient of what goes into the relu, which passes on what belongs to
// elements above 0 and to NaN; `x` is what goes in or what comes out, as both
// say the same, and not null. Gradients of 16-bit dtypes are added up in float,
// which the caller rounds.
template <typename T>
SLUICE_API void Pool2dGrad(const Pool2dGeometry& g,
                           const T* x,
                           const T* out,
                           const T* out_grad,
                           PoolGrad<T>* x_grad);

}  // namespace sluice::operators::math
