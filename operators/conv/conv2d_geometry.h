#pragma once

#include <cstdint>
#include <utility>

namespace sluice {

// The sizes of a 2-d convolution, forward or backward. Input [n, in_c, in_h,
// in_w], output [n, out_c, out_h, out_w] (or channels last if `nhwc`); the
// filter is always [out_c, in_c / groups, kernel_h, kernel_w]. Element (oh, kh)
// of a dimension reads row oh * stride + kh * dilation - pad of the input; rows
// outside of it are 0.
struct Conv2dGeometry {
  int64_t n = 0;
  int64_t in_c = 0, in_h = 0, in_w = 0;
  int64_t out_c = 0, out_h = 0, out_w = 0;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  int64_t groups = 1;
  bool nhwc = false;

  int64_t in_pixels() const { return in_h * in_w; }
  int64_t out_pixels() const { return out_h * out_w; }
  int64_t group_in_c() const { return in_c / groups; }
  int64_t group_out_c() const { return out_c / groups; }
  // The input elements that an output element sums over, padding included.
  int64_t patch() const { return group_in_c() * kernel_h * kernel_w; }
  int64_t input_size() const { return n * in_c * in_pixels(); }
  int64_t output_size() const { return n * out_c * out_pixels(); }
  int64_t filter_size() const { return out_c * patch(); }
  // Images of one column have the memory of images of one row, which loops are
  // faster along: lets height and width change places. The filter's do so, too,
  // which leaves its memory as it is only if it has one column.
  void LayColumnsFlat() {
    if (in_w != 1 || out_w != 1 || kernel_w != 1 || in_h == 1) return;
    std::swap(in_h, in_w);
    std::swap(out_h, out_w);
    std::swap(kernel_h, kernel_w);
    std::swap(stride_h, stride_w);
    std::swap(dilation_h, dilation_w);
    std::swap(pad_top, pad_left);
    std::swap(pad_bottom, pad_right);
  }
  // Whether every patch is one pixel and patches are in the order of pixels.
  bool pointwise() const {
    return kernel_h == 1 && kernel_w == 1 && stride_h == 1 && stride_w == 1 &&
           pad_top == 0 && pad_bottom == 0 && pad_left == 0 && pad_right == 0;
  }
};

// The filters of a convolution [out_c, in_c / groups, kernel_h, kernel_w],
// unpacked and packed, and their factors [out_c] (nullptr: 1).
struct PackedFilter {
  const float* filter = nullptr;
  const double* factors = nullptr;
  const float* packed = nullptr;
};

}  // namespace sluice
