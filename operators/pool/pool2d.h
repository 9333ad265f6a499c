#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "sluice/platform/export.h"

namespace sluice {

// The sizes of 2-d pooling over the pixels of each channel of x, [n, c, in_h,
// in_w], or channels last if `nhwc`. Window (oh, ow) begins at row oh *
// stride_h - pad_top and is clipped to the input. Each window contains at least
// one pixel.
struct Pool2dGeometry {
  int64_t n = 0, c = 0;
  int64_t in_h = 0, in_w = 0;
  int64_t out_h = 0, out_w = 0;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  // pad_bottom and pad_right are how far the windows extend past the end. With
  // ceil_mode this is more than the attribute. It is negative if no window
  // contains the last pixels.
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  bool nhwc = false;
  bool max = true;
  // Averages divide by the pixels in a window if true. If false, padding counts
  // as well, up to end_h and end_w: what a window of ceil_mode covers past the
  // padding does not, as in PyTorch and ONNX.
  bool exclusive = true;
  int64_t end_h = 0, end_w = 0;
  // The pixels are those of relu(x), which is not stored.
  bool relu = false;

  // Whether the last windows extend past the padding.
  bool overhangs() const {
    return in_h + pad_bottom > end_h || in_w + pad_right > end_w;
  }
  // As Conv2dGeometry::LayColumnsFlat: images of one column become rows.
  void LayColumnsFlat() {
    if (in_w != 1 || out_w != 1 || in_h == 1) return;
    std::swap(in_h, in_w);
    std::swap(out_h, out_w);
    std::swap(kernel_h, kernel_w);
    std::swap(stride_h, stride_w);
    std::swap(pad_top, pad_left);
    std::swap(pad_bottom, pad_right);
    std::swap(end_h, end_w);
  }
  int64_t in_pixels() const { return in_h * in_w; }
  int64_t out_pixels() const { return out_h * out_w; }
};

// out = the maximum (NaN is larger than every number) or the average of each
// window, through ParallelFor. T is any float dtype. Averages of 16-bit dtypes
// are summed in float, those of more than 64 pixels in double, and so are those
// of whole planes in float32 and float64; no sum overflows unless the average
// does. With `relu` the bits equal those of a separate relu.
template <typename T>
SLUICE_API void Pool2d(const Pool2dGeometry& g, const T* x, T* out);

// Whether each plane of an input with channels first has one window, which
// contains it whole: Pool2d then reads rows.
SLUICE_API bool HasWholePlanes(const Pool2dGeometry& g);

// Pool2d's maxima of any windows with channels last: vectors of channels stay
// in registers during the loop over a window's pixels. The bits equal those of
// the other loops. T: float or double.
template <typename T>
void MaxOfChannels(const Pool2dGeometry& g, const T* x, T* out);

// The type in which gradients of T are summed.
template <typename T>
using PoolGrad = std::conditional_t<sizeof(T) == 2, float, T>;

// Computes the whole x_grad. An element of out_grad is added to the first pixel
// of its window, row by row, that equals the maximum `out`; for averages it is
// distributed evenly to the pixels that were averaged. `x` and `out` may be
// null for averages. Gradients of overlapping windows are added in a fixed
// order. With `relu`, x_grad is the gradient of relu's input: it passes where
// the element is above 0 or NaN. `x` is then not null; relu's input and its
// output have the same effect. For 16-bit dtypes x_grad is in float, and the
// caller rounds it.
template <typename T>
SLUICE_API void Pool2dGrad(const Pool2dGeometry& g,
                           const T* x,
                           const T* out,
                           const T* out_grad,
                           PoolGrad<T>* x_grad);

}  // namespace sluice
